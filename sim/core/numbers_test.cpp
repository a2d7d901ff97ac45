#include "core/numbers.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace ddptwin::numbers_test {
namespace {

TEST(Numbers, a_whole_number_is_the_whole_text) {
  EXPECT_EQ(whole_number<int>("-12"), -12);
  EXPECT_EQ(whole_number<int>("0012"), 12);
  EXPECT_EQ(whole_number<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(whole_number<double>("2.5e1"), 25.0);
  for (const char* none : {"", "+1", " 1", "1 ", "1x", "x", "0x10", "1.0", "2147483648", "-"})
    EXPECT_EQ(whole_number<int>(none), std::nullopt) << none;
  EXPECT_EQ(whole_number<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(whole_number_in(16, "fF"), 255);
  EXPECT_EQ(whole_number_in(8, "8"), std::nullopt);
}

TEST(Numbers, go_takes_a_sign_and_says_why_not) {
  const std::string_view syntax = "invalid syntax", range = "value out of range";
  EXPECT_EQ(go_integer<int>("+5"), 5);
  EXPECT_EQ(go_integer<int>("-5"), -5);
  for (const char* wrong : {"", "+", "+-5", "++5", " 5", "5 ", "5.0", "0x5", "1_000"})
    EXPECT_EQ(go_integer<int>(wrong), tl::make_unexpected(syntax)) << wrong;
  EXPECT_EQ(go_integer<int>("2147483648"), tl::make_unexpected(range));
  EXPECT_EQ(go_integer<std::int64_t>("-9223372036854775809"), tl::make_unexpected(range));
  EXPECT_EQ(go_integer<std::int64_t>("99999999999999999999x"), tl::make_unexpected(range));
  EXPECT_EQ(go_integer<std::int64_t>("9999999999999999999x"), tl::make_unexpected(syntax));
  EXPECT_EQ(go_integer<std::int64_t>("-9223372036854775808"),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(go_integer<std::uint64_t>("+5"), tl::make_unexpected(syntax));
  EXPECT_EQ(go_integer<std::uint64_t>("-5"), tl::make_unexpected(syntax));
}

TEST(Numbers, digits_are_taken_off_the_front) {
  std::string_view text = "12ab";
  EXPECT_EQ(take_number<int>(text), 12);
  EXPECT_EQ(text, "ab");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, "ab");
  for (std::string_view none : {"", "-1", "+1", " 1", "99999999999"}) {
    const std::string_view before = none;
    EXPECT_EQ(take_number<int>(none), std::nullopt) << before;
    EXPECT_EQ(none, before);
  }
}

}  // namespace
}  // namespace ddptwin::numbers_test
