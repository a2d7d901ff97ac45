#include "objects/cron_schedule.hpp"

#include <gtest/gtest.h>

namespace ddptwin::cron_schedule_test {
namespace {

std::string next_of(const char* schedule, const char* after) {
  const auto parsed = CronSchedule::parse(schedule);
  if (!parsed) return parsed.error().message;
  const auto next = parsed->next(*parse_rfc3339(after));
  return next ? format_rfc3339(*next) : "never";
}

TEST(CronSchedule, finds_the_next_time) {
  const struct {
    const char *schedule, *after, *next;
  } rows[] = {
      {"*/10 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"},
      {"*/10 * * * *", "2026-01-01T00:55:30Z", "2026-01-01T01:00:00Z"},
      {"30 2 * * *", "2026-01-01T02:30:00Z", "2026-01-02T02:30:00Z"},
      {"0 0 1 1 *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
      {"0 12 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T12:00:00Z"},
      {"0 0 30 2 *", "2026-01-01T00:00:00Z", "never"},
      {"0 9 * * MON-FRI", "2026-01-02T09:00:00Z", "2026-01-05T09:00:00Z"},
      {"0 9 13 * 5", "2026-01-02T09:00:00Z", "2026-01-09T09:00:00Z"},  // either of the two
      {"0 9 13 * *", "2026-01-02T09:00:00Z", "2026-01-13T09:00:00Z"},
      {"5,35 1-3/2 * * *", "2026-01-01T01:35:00Z", "2026-01-01T03:05:00Z"},
      {"0 0 * DEC ?", "2026-01-01T00:00:00Z", "2026-12-01T00:00:00Z"},
      {"@hourly", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"},
      {"@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
      {"@every 90s", "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(next_of(row.schedule, row.after), row.next) << row.schedule;
}

TEST(CronSchedule, refuses_in_upstreams_words) {
  const struct {
    const char *schedule, *message;
  } rows[] = {
      {"", "empty spec string"},
      {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
      {"@never", "unrecognized descriptor: @never"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(next_of(row.schedule, "2026-01-01T00:00:00Z"), row.message) << row.schedule;
}

}  // namespace
}  // namespace ddptwin::cron_schedule_test
