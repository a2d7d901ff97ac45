#include "core/regular_expression.hpp"

#include <gtest/gtest.h>

namespace ddptwin::regular_expression_test {
namespace {

TEST(RegularExpressionTest, WhatIsOneMatches) {
  for (const char* pattern : {"a{2}", "a{1,12}", "(a)\\1", "took,12345678901|aa", "12345678901|aa",
                              "\\\\12345678901|aa", "\\{12345678901|aa"}) {
    const auto made = regular_expression(pattern);
    ASSERT_TRUE(made.has_value()) << pattern;
    EXPECT_TRUE(std::regex_search("aa", *made)) << pattern;
  }
}

TEST(RegularExpressionTest, WhatIsNoneIsRefusedWithAReason) {
  EXPECT_FALSE(regular_expression("(").has_value());
  EXPECT_FALSE(regular_expression("[").has_value());
}

TEST(RegularExpressionTest, ANumberThatNothingHoldsIsRefused) {
  for (const char* pattern :
       {"a{99999999999999999999}", "a{1,99999999999999999999}", "(a)\\99999999999999999999",
        "\\\\\\99999999999999999999", "w[46]\\9999999999"}) {
    const auto made = regular_expression(pattern);
    ASSERT_FALSE(made.has_value()) << pattern;
    EXPECT_EQ(made.error().message, "a number in it is too long") << pattern;
  }
}

}  // namespace
}  // namespace ddptwin::regular_expression_test
