#include "core/line_cutter.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ddptwin::line_cutter_test {
namespace {

using Lines = std::vector<std::string>;

// Byte by byte, and in one piece: where a read ends must not show.
Lines lines_of(std::string_view text) {
  const auto cut = [text](std::size_t piece) {
    Lines lines;
    const auto take = [&](std::string line) { lines.push_back(std::move(line)); };
    LineCutter cutter;
    for (std::size_t i = 0; i < text.size(); i += piece) cutter.add(text.substr(i, piece), take);
    cutter.finish(take);
    return lines;
  };
  const Lines lines = cut(text.size());
  EXPECT_EQ(cut(1), lines);
  return lines;
}

TEST(LineCutter, lines_are_put_together_from_parts_and_cut_when_too_long) {
  Lines lines;
  const auto take = [&](std::string line) { lines.push_back(std::move(line)); };
  LineCutter cutter;
  cutter.add("on", take);
  cutter.add("e\n\ntwo\nth", take);
  EXPECT_EQ(lines, (Lines{"one", "", "two"}));
  cutter.finish(take);
  EXPECT_EQ(lines.back(), "th");
  cutter.add(std::string(LineCutter::line_max + 5, 'x'), take);
  EXPECT_EQ(lines.back().size(), LineCutter::line_max);
  cutter.finish(take);
  EXPECT_EQ(lines.back(), "xxxxx");
}

TEST(LineCutter, each_drawing_of_a_progress_bar_is_a_line) {
  EXPECT_EQ(lines_of("\r  0%| |\r 50%|#|\r100%|##|\ndone\n"),
            (Lines{"  0%| |", " 50%|#|", "100%|##|", "done"}));
  EXPECT_EQ(lines_of("step 1\rstep 2\r"), (Lines{"step 1", "step 2"}));
}

TEST(LineCutter, what_wipes_a_bar_off_the_screen_is_no_line) {
  EXPECT_EQ(lines_of("\r 50%|#|\r        \rsaved\n"), (Lines{" 50%|#|", "saved"}));
  EXPECT_EQ(lines_of("\r 50%|#|\r        \r\nsaved\n"), (Lines{" 50%|#|", "", "saved"}));
}

TEST(LineCutter, a_carriage_return_before_a_line_feed_is_one_end) {
  EXPECT_EQ(lines_of("one\r\n\r\n  \r\ntwo\r\r\nthree"), (Lines{"one", "", "  ", "two", "three"}));
}

TEST(LineCutter, a_bar_that_stands_still_is_given_out_and_not_told_twice) {
  Lines lines;
  const auto take = [&](std::string line) { lines.push_back(std::move(line)); };
  LineCutter cutter;
  cutter.add("no bar", take);
  EXPECT_FALSE(cutter.holds_bar());
  cutter.give_bar(take);
  EXPECT_EQ(lines, Lines{});
  cutter.add("\r 10%", take);
  EXPECT_TRUE(cutter.holds_bar());
  cutter.give_bar(take);
  EXPECT_FALSE(cutter.holds_bar());
  EXPECT_EQ(lines, (Lines{"no bar", " 10%"}));
  cutter.add("\r 20%\n", take);
  EXPECT_EQ(lines, (Lines{"no bar", " 10%", " 20%"}));
  cutter.add("\r 30%", take);
  cutter.give_bar(take);
  cutter.add("\nend\n", take);
  EXPECT_EQ(lines, (Lines{"no bar", " 10%", " 20%", " 30%", "end"}));
}

}  // namespace
}  // namespace ddptwin::line_cutter_test
