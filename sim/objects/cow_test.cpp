#include "objects/cow.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ddptwin::cow_test {
namespace {

TEST(Cow, a_copy_is_shared_until_it_is_changed) {
  Cow<std::vector<int>> a{1, 2};
  Cow<std::vector<int>> b = a;
  EXPECT_TRUE(a.same_as(b));
  b.edit().push_back(3);
  EXPECT_EQ(a.size(), 2U);
  EXPECT_EQ(b.size(), 3U);
  EXPECT_FALSE(a.same_as(b));
}

TEST(Cow, who_is_alone_changes_in_place) {
  Cow<std::string> text("a");
  const std::string* before = &*text;
  text.edit() += "b";
  EXPECT_EQ(&*text, before);
  EXPECT_EQ(*text, "ab");
}

TEST(Cow, texts_are_compared_as_texts_are) {
  const Cow<std::string> text("a"), same(std::string("a")), other("b");
  EXPECT_TRUE(text == same);
  EXPECT_FALSE(text == other);
  EXPECT_TRUE(text == "a");
  EXPECT_TRUE(std::string("a") == text);
  EXPECT_TRUE(text != std::string_view("b"));
  // Whether it was ever given a value makes no difference.
  EXPECT_TRUE(Cow<std::string>() == Cow<std::string>(""));
  EXPECT_TRUE(Cow<std::string>() == "");
}

TEST(Rare, is_absent_or_shared_until_it_is_changed) {
  Rare<std::string> a;
  EXPECT_FALSE(a);
  a.edit() = "a";
  Rare<std::string> b = a;
  EXPECT_TRUE(a.same_as(b));
  b.edit() += "b";
  EXPECT_EQ(*a, "a");
  EXPECT_EQ(*b, "ab");
  b.emplace();
  EXPECT_TRUE(b.has_value());
  EXPECT_EQ(*b, "");
  b.reset();
  EXPECT_FALSE(b.has_value());
  EXPECT_TRUE(b.same_as(Rare<std::string>()));
  EXPECT_EQ(*a, "a");
}

// As in a pod's specification: a list of containers with rare parts.
TEST(Rare, in_a_copied_list_belongs_to_the_copy) {
  struct Item {
    Rare<std::string> part{};
  };
  Cow<std::vector<Item>> a{std::vector{Item{std::string("a")}}};
  Cow<std::vector<Item>> b = a;
  b.edit()[0].part.edit() += "b";
  EXPECT_EQ(*a[0].part, "a");
  EXPECT_EQ(*b[0].part, "ab");
}

}  // namespace
}  // namespace ddptwin::cow_test
