#include "objects/interner.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ddptwin {
namespace {

TEST(InternerTest, EqualValuesBecomeOneMemory) {
  Interner<std::string> intern(2);
  const Cow<std::string> first = intern("a");
  const Cow<std::string> other = intern("b");
  EXPECT_TRUE(intern("a").same_as(first));
  EXPECT_TRUE(intern(other).same_as(other));
  EXPECT_FALSE(first.same_as(other));
  EXPECT_EQ(*first, "a");
}

TEST(InternerTest, TheOldestIsForgotten) {
  Interner<std::string> intern(2);
  const Cow<std::string> first = intern("a"), second = intern("b"), third = intern("c");
  EXPECT_TRUE(intern("c").same_as(third));
  EXPECT_TRUE(intern("b").same_as(second));
  EXPECT_FALSE(intern("a").same_as(first));
}

TEST(InternerTest, AChangeOfOneIsNotSeenInAnother) {
  Interner<std::string> intern(2);
  Cow<std::string> mine = intern("a");
  mine.edit() = "changed";
  EXPECT_EQ(*intern("a"), "a");
}

}  // namespace
}  // namespace ddptwin
