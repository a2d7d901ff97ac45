#include "controller/endpoints/amended.hpp"

#include <gtest/gtest.h>

namespace ddptwin::controller::endpoints::amended_test {
namespace {

TEST(Amended, is_equal_to_what_it_makes_and_to_nothing_else) {
  const StringMap from{{"a", "1"}, {"b", "2"}, {"d", "4"}};
  Amended amended(from);
  amended.set("b", "changed");
  amended.set("c", "added");
  amended.drop("d");
  const StringMap made{{"a", "1"}, {"b", "changed"}, {"c", "added"}};
  EXPECT_EQ(amended.made(), made);
  EXPECT_TRUE(amended == made);
  EXPECT_FALSE(amended == from);
  EXPECT_FALSE(amended == StringMap());
  for (const auto& [key, value] : made) {
    StringMap without = made, other = made;
    without.erase(key);
    EXPECT_FALSE(amended == without) << key;
    other[key] = "other";
    EXPECT_FALSE(amended == other) << key;
  }
  StringMap more = made;
  more["d"] = "4";
  EXPECT_FALSE(amended == more);
}

TEST(Amended, dropping_what_is_not_there_changes_nothing) {
  const StringMap from{{"a", "1"}};
  Amended amended(from);
  amended.drop("b");
  EXPECT_TRUE(amended == from);
  EXPECT_EQ(amended.made(), from);
}

}  // namespace
}  // namespace ddptwin::controller::endpoints::amended_test
