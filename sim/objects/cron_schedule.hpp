// When a CronJob is due: the five fields of crontab and their short forms
// (upstream: robfig/cron v3, ParseStandard).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "objects/time_zone.hpp"

namespace ddptwin {

class CronSchedule {
 public:
  // "30 2 * * 1-5", "*/10 * * * *", "@daily", "@every 90s"; refuses in upstream's words.
  static Result<CronSchedule> parse(std::string_view text);

  // The first time after that one by the clocks of the zone; nothing: it never comes (the 30th of
  // February).
  std::optional<Time> next(Time after, const TimeZone& zone = TimeZone::utc()) const;

 private:
  // A bit a value.
  std::uint64_t minutes_ = 0, hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
  // Where both say which days, either of the two is enough.
  bool any_day_ = false, any_weekday_ = false;
  Duration every_{};  // of @every; zero: by the fields
};

}  // namespace ddptwin
