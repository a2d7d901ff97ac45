#include "controller/manager/endpoints/amended.hpp"

#include <gtest/gtest.h>

namespace ddptwin::controller::endpoints::amended_test {
namespace {

TEST(Amended, changes_what_it_is_told_to_and_nothing_else) {
  const StringMap from{{"a", "1"}, {"b", "2"}, {"d", "4"}};
  Amended amended(from);
  amended.set("b", "changed");
  amended.set("c", "added");
  amended.drop("d");
  const StringMap made{{"a", "1"}, {"b", "changed"}, {"c", "added"}};
  EXPECT_EQ(amended.made(), made);
}

TEST(Amended, dropping_what_is_not_there_changes_nothing) {
  const StringMap from{{"a", "1"}};
  Amended amended(from);
  amended.drop("b");
  EXPECT_EQ(amended.made(), from);
}

}  // namespace
}  // namespace ddptwin::controller::endpoints::amended_test
