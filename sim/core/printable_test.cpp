#include "core/printable.hpp"

#include <gtest/gtest.h>

namespace ddptwin::printable_test {
namespace {

TEST(Printable, a_text_stays_in_its_row_and_does_nothing_to_a_terminal) {
  EXPECT_EQ(printable("one\ntwo\r\n\tthree"), "one\\ntwo\\r\\n\\tthree");
  EXPECT_EQ(printable("\x1b[2J\x1b[31mred\x07\x7f"), "\\x1b[2J\\x1b[31mred\\x07\\x7f");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "b\xe2\x80\xae"
                      "c\xe2\x80\xa8"),
            "a\\u009bb\\u202ec\\u2028");
  EXPECT_EQ(printable("not \xff UTF-8 \xe2\x82"), "not \\xff UTF-8 \\xe2\\x82");
  EXPECT_EQ(printable("100%|████| für 5 \\n"), "100%|████| für 5 \\n");
}

TEST(Printable, a_line_of_a_program_loses_its_colours) {
  EXPECT_EQ(printable_line("\x1b[32mINFO\x1b[0m\tstep 5"), "INFO step 5");
  EXPECT_EQ(printable_line("\x1b]0;title\x07"
                           "a\x1b]8;;x\x1b\\b\x1b"
                           "Mc"),
            "abc");
  EXPECT_EQ(printable_line("50%|#\x1b[A"), "50%|#");
  EXPECT_EQ(printable_line("open \x1b[31"), "open \\x1b[31");
}

}  // namespace
}  // namespace ddptwin::printable_test
