#include "objects/interner.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ddptwin::interner_test {
namespace {

TEST(InternerTest, EqualValuesBecomeOneMemory) {
  Interner<std::string> intern(2);
  const Cow<std::string> first = intern(std::string("a"));
  const Cow<std::string> other = intern(std::string("b"));
  EXPECT_TRUE(intern(std::string("a")).same_as(first));
  EXPECT_TRUE(intern(other).same_as(other));
  EXPECT_FALSE(first.same_as(other));
  EXPECT_EQ(*first, "a");
}

TEST(InternerTest, TheOldestIsForgotten) {
  Interner<std::string> intern(2);
  const Cow<std::string> first = intern(std::string("a")), second = intern(std::string("b")),
                         third = intern(std::string("c"));
  EXPECT_TRUE(intern(std::string("c")).same_as(third));
  EXPECT_TRUE(intern(std::string("b")).same_as(second));
  EXPECT_FALSE(intern(std::string("a")).same_as(first));
}

TEST(InternerTest, WhatIsKnownIsNotMadeAgain) {
  Interner<std::string> intern(2);
  int made = 0;
  const auto ask = [&](const std::string& value) {
    return intern([&](const std::string& one) { return one == value; },
                  [&] { return ++made, value; });
  };
  const Cow<std::string> first = ask("a");
  EXPECT_TRUE(ask("a").same_as(first));
  EXPECT_EQ(made, 1);
  EXPECT_EQ(*ask("b"), "b");
  EXPECT_EQ(made, 2);
}

TEST(InternerTest, AChangeOfOneIsNotSeenInAnother) {
  Interner<std::string> intern(2);
  Cow<std::string> mine = intern(std::string("a"));
  mine.edit() = "changed";
  EXPECT_EQ(*intern(std::string("a")), "a");
}

}  // namespace
}  // namespace ddptwin::interner_test
