#include "objects/cron_schedule.hpp"

#include <gtest/gtest.h>

namespace ddptwin::cron_schedule_test {
namespace {

std::string next_of(const char* schedule, const char* after, const char* zone = "UTC") {
  const auto parsed = CronSchedule::parse(schedule);
  if (!parsed) return parsed.error().message;
  const auto next = parsed->next(*parse_rfc3339(after), *TimeZone::find(zone));
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

// As robfig/cron does: what does not exist is left out, what comes twice is met twice.
TEST(CronSchedule, goes_by_the_clocks_of_the_place_through_the_seasons) {
  const struct {
    const char *zone, *schedule, *after, *next;
  } rows[] = {
      {"Asia/Tokyo", "0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
      {"Europe/Berlin", "0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T08:00:00Z"},
      {"Europe/Berlin", "0 9 * * *", "2026-07-01T00:00:00Z", "2026-07-01T07:00:00Z"},
      // 2026-03-29: from 02:00 to 03:00 there is nothing.
      {"Europe/Berlin", "30 2 * * *", "2026-03-28T02:00:00Z", "2026-03-30T00:30:00Z"},
      {"Europe/Berlin", "30 1,3 * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
      {"Europe/Berlin", "0 * * * *", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
      // 2026-10-25: from 02:00 to 03:00 twice.
      {"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
      {"Europe/Berlin", "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
      {"Europe/Berlin", "30 2 * * *", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
      {"America/New_York", "30 2 * * *", "2026-03-07T12:00:00Z", "2026-03-09T06:30:00Z"},
      {"America/New_York", "30 1 * * *", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"},
      {"America/New_York", "30 1 * * *", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"},
      {"Australia/Sydney", "30 2 * * *", "2026-10-03T00:00:00Z", "2026-10-04T15:30:00Z"},
      {"Australia/Sydney", "0 0 1 1 *", "2026-06-01T00:00:00Z", "2026-12-31T13:00:00Z"},
      {"Australia/Adelaide", "*/30 2 * * *", "2026-04-04T15:30:00Z", "2026-04-04T16:00:00Z"},
      {"Europe/Berlin", "@every 90m", "2026-03-29T00:30:00Z", "2026-03-29T02:00:00Z"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(next_of(row.schedule, row.after, row.zone), row.next)
        << row.zone << " " << row.schedule << " after " << row.after;
  EXPECT_EQ(TimeZone::find("Europe/Nowhere"), nullptr);
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
