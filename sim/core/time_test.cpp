#include "core/time.hpp"

#include <gtest/gtest.h>

namespace ddptwin::time_test {
namespace {

TEST(Time, rfc3339_goes_there_and_back) {
  for (const char* text :
       {"1970-01-01T00:00:00Z", "2026-02-28T23:59:59Z", "2028-02-29T12:00:00Z"}) {
    const auto time = parse_rfc3339(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(format_rfc3339(*time), text);
  }
  EXPECT_EQ(format_rfc3339_micro(*parse_rfc3339("2026-01-01T00:00:00.5Z")),
            "2026-01-01T00:00:00.500000Z");
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("2026-01-01T01:30:00+01:30")), "2026-01-01T00:00:00Z");
}

TEST(Time, what_is_no_date_time_is_nothing) {
  for (const char* text :
       {"", "2026-01-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

struct DurationRow {
  const char* text;
  Duration duration;
};

TEST(Time, go_durations_read_and_print) {
  for (const DurationRow& row :
       {DurationRow{"1m30s", 90s}, DurationRow{"300ms", 300ms}, DurationRow{"1h0m0s", 3600s},
        DurationRow{"1.5s", 1500ms}, DurationRow{"0s", 0s}, DurationRow{"-2s", -2s}}) {
    EXPECT_EQ(format_go_duration(row.duration), row.text);
    EXPECT_EQ(parse_go_duration(row.text), row.duration) << row.text;
  }
  for (const char* text : {"", "5", "s", "1x", "1e400s", "--1s"})
    EXPECT_FALSE(parse_go_duration(text)) << text;
}

TEST(Time, an_optional_time_is_as_an_optional) {
  const Time at(90s);
  OptionalTime absent, epoch = Time(), present = at;
  EXPECT_FALSE(absent.has_value());
  EXPECT_TRUE(epoch.has_value());
  EXPECT_EQ(*present, at);
  EXPECT_EQ(present, at);
  EXPECT_EQ(absent, std::optional<Time>());
  EXPECT_NE(absent, std::optional(Time()));
  EXPECT_EQ(std::optional<Time>(present), std::optional(at));
  EXPECT_EQ(std::optional<Time>(absent), std::nullopt);
  EXPECT_LT(absent, epoch);
  EXPECT_EQ(absent.value_or(at), at);
  present = std::nullopt;
  EXPECT_EQ(present, absent);
}

struct AgeRow {
  Duration age;
  const char* text;
};

TEST(Time, ages_read_as_kubectl_prints_them) {
  for (const AgeRow& row :
       {AgeRow{5s, "5s"}, AgeRow{119s, "119s"}, AgeRow{123s, "2m3s"}, AgeRow{600s, "10m"},
        AgeRow{3h + 12min, "3h12m"}, AgeRow{49h, "2d1h"}, AgeRow{24h * 9, "9d"}})
    EXPECT_EQ(format_age(row.age), row.text);
}

}  // namespace
}  // namespace ddptwin::time_test
