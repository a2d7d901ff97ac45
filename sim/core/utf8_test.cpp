#include "core/utf8.hpp"

#include <gtest/gtest.h>

namespace ddptwin::utf8_test {
namespace {

TEST(Utf8, what_is_not_utf8_is_replaced_and_the_rest_kept) {
  const std::string_view r = "\xef\xbf\xbd";
  const auto with = [&](std::string_view a, int replaced, std::string_view b) {
    std::string text(a);
    for (int i = 0; i < replaced; ++i) text += r;
    return text.append(b);
  };
  EXPECT_EQ(valid_utf8(""), "");
  EXPECT_EQ(valid_utf8("plain\tüß€😀"), "plain\tüß€😀");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            with("a", 1, "b"));
  EXPECT_EQ(valid_utf8("a\x80"), with("a", 1, ""));            // a continuation alone
  EXPECT_EQ(valid_utf8("\xc0\xaf"), with("", 2, ""));          // longer than needed
  EXPECT_EQ(valid_utf8("\xed\xa0\x80x"), with("", 3, "x"));    // a surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), with("", 4, ""));  // beyond U+10FFFF
  EXPECT_EQ(valid_utf8("\xe2\x82"), with("", 1, ""));          // cut short at the end
  EXPECT_EQ(valid_utf8("\xe2\x82"
                       "x"),
            with("", 1, "x"));
  EXPECT_EQ(valid_utf8("\xf0\x9f\x98\xe2\x82\xac"), with("", 1, "€"));
}

TEST(Utf8, a_sequence_has_the_length_that_its_first_byte_says_or_none) {
  EXPECT_EQ(utf8_length("plain"), 1U);
  EXPECT_EQ(utf8_length("ß€"), 2U);
  EXPECT_EQ(utf8_length("€"), 3U);
  EXPECT_EQ(utf8_length("😀x"), 4U);
  for (const char* wrong : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82"})
    EXPECT_EQ(utf8_length(wrong), 0U);
}

TEST(Utf8, no_character_is_cut) {
  EXPECT_EQ(utf8_head("a€b", 5), "a€b");
  EXPECT_EQ(utf8_head("a€b", 4), "a€");
  EXPECT_EQ(utf8_head("a€b", 3), "a");
  EXPECT_EQ(utf8_head("€", 1), "");
  EXPECT_EQ(utf8_head("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
  EXPECT_EQ(utf8_tail("a€b", 4), "€b");
  EXPECT_EQ(utf8_tail("a€b", 3), "b");
  EXPECT_EQ(utf8_tail("a€b", 0), "");
}

}  // namespace
}  // namespace ddptwin::utf8_test
