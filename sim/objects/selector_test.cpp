#include "objects/selector.hpp"

#include <gtest/gtest.h>

namespace ddptwin::selector_test {
namespace {

TEST(LabelMatcher, Matches) {
  const StringMap labels{{"a", "b"}, {"n", "5"}};
  const struct {
    const char* selector;
    bool matches;
  } rows[] = {{"", true},          {"a=b", true},          {"a==b", true},
              {"a!=b", false},     {"c!=b", true},         {"a in (b,c)", true},
              {"a in (c)", false}, {"a notin (c)", true},  {"c notin (x)", true},
              {"a", true},         {"!a", false},          {"!c", true},
              {"n>4", true},       {"n<5", false},         {"a=b,n=5", true},
              {"a=b,n=6", false},  {"a notin (b,)", false}};
  for (const auto& row : rows) {
    const auto matcher = LabelMatcher::parse(row.selector);
    ASSERT_TRUE(matcher.has_value()) << row.selector;
    EXPECT_EQ(matcher->matches(labels), row.matches) << row.selector;
  }
}

// Recorded: tests/recordings/api (spec/kubernetes.md section 1.9).
TEST(LabelMatcher, RefusesInTheApisWords) {
  const struct {
    const char* selector;
    const char* message;
  } rows[] = {
      {"a===b", "unable to parse requirement: found '=', expected: identifier"},
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {",", "found ',', expected: !, identifier, or 'end of string'"},
      {"a in b", "unable to parse requirement: found 'b' expected: '('"},
      {"x>abc",
       "unable to parse requirement: values[0]: Invalid value: \"abc\": for 'Gt', 'Lt' operators, "
       "the value must be an integer"},
  };
  for (const auto& row : rows) {
    const auto matcher = LabelMatcher::parse(row.selector);
    ASSERT_FALSE(matcher.has_value()) << row.selector;
    EXPECT_EQ(matcher.error().message, row.message);
  }
}

// Found by fuzzing: the empty value was lost.
TEST(LabelMatcher, KeepsAnEmptyValueInItsText) {
  EXPECT_EQ(LabelMatcher::parse("env notin (prod,)")->text(), "env notin (,prod)");
  EXPECT_EQ(LabelMatcher::parse("a in (y,x,y)")->text(), "a in (x,y)");
}

TEST(FieldMatcher, ReadsEscapesAndEmptyValues) {
  const auto matcher = FieldMatcher::parse("a=x\\,y,b!=,c==1");
  ASSERT_TRUE(matcher.has_value());
  ASSERT_EQ(matcher->requirements().size(), 3u);
  EXPECT_EQ(matcher->requirements()[0].value, "x,y");
  EXPECT_TRUE(matcher->requirements()[1].negated);
  EXPECT_EQ(FieldMatcher::parse("foo").error().message,
            "invalid selector: 'foo'; can't understand 'foo'");
}

}  // namespace
}  // namespace ddptwin::selector_test
