#include "objects/index_set.hpp"

#include <gtest/gtest.h>

namespace ddptwin::index_set_test {
namespace {

std::string written(std::initializer_list<int> indexes) {
  IndexSet set;
  for (const int index : indexes) set.add(index);
  return set.text();
}

// spec/trainjob.md C210.
TEST(IndexSet, writes_three_neighbours_as_an_interval_and_two_as_a_list) {
  EXPECT_EQ(written({}), "");
  EXPECT_EQ(written({2, 3, 5, 6, 7}), "2,3,5-7");
  EXPECT_EQ(written({7, 1, 5, 3, 4}), "1,3-5,7");
  EXPECT_EQ(written({0, 0, 1}), "0,1");
  EXPECT_EQ(written({4, 2, 3}), "2-4");
}

// C211, C213: what a status says may be of a larger Job, or of nobody's making.
TEST(IndexSet, reads_what_it_can) {
  EXPECT_EQ(IndexSet::read("0-5,8-10", 8).text(), "0-5");
  EXPECT_EQ(IndexSet::read("0-5,8-10", 10).text(), "0-5,8,9");
  EXPECT_EQ(IndexSet::read("0,1-foo,bar", 9).text(), "0");
  EXPECT_EQ(IndexSet::read("", 9).size(), 0);
  EXPECT_TRUE(IndexSet::read("1,3-5", 9).has(4));
  EXPECT_FALSE(IndexSet::read("1,3-5", 9).has(2));
  EXPECT_EQ(IndexSet::read("1,3-5", 9).size(), 4);
}

TEST(IndexSet, refuses_what_a_user_may_not_say) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"0-1-2",
       "the fragment \"0-1-2\" violates the requirement that an index interval can have at most "
       "two "
       "parts separated by '-'"},
      {"1,", "cannot convert string to integer for index: \"\""},
      {"x", "cannot convert string to integer for index: \"x\""},
      {"1-x", "cannot convert string to integer for index: \"x\""},
      {"5", "too large index: \"5\""},
      {"1-5", "too large index: \"5\""},
      {"2,1", "non-increasing order, previous: 2, current: 1"},
      {"2-2", "non-increasing order, previous: 2, current: 2"},
      {"3-1", "non-increasing order, previous: 3, current: 1"},
  };
  for (const auto& row : rows) {
    const auto parsed = IndexSet::parse(row.text, 5);
    ASSERT_FALSE(parsed.has_value()) << row.text;
    EXPECT_EQ(parsed.error().message, row.message) << row.text;
  }
  EXPECT_EQ(IndexSet::parse("0,2-4", 5)->text(), "0,2-4");
}

}  // namespace
}  // namespace ddptwin::index_set_test
