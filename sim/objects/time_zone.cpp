#include "objects/time_zone.hpp"

#include <algorithm>
#include <array>

namespace ddptwin {

namespace {

namespace chrono = std::chrono;

// By which clock an hour is told.
enum class Clock : std::uint8_t { utc, standard, summer };

struct Change {
  chrono::month month;
  unsigned week;  // the first Sunday of it, the second; 0: the last
  chrono::hours hour;
  Clock clock;
};

}  // namespace

struct Seasons {
  Change forward, back;
};

namespace {

constexpr chrono::minutes summer = 60min;

constexpr Seasons europe{{chrono::March, 0, 1h, Clock::utc}, {chrono::October, 0, 1h, Clock::utc}};
constexpr Seasons north_america{{chrono::March, 2, 2h, Clock::standard},
                                {chrono::November, 1, 2h, Clock::summer}};
constexpr Seasons australia{{chrono::October, 1, 2h, Clock::standard},
                            {chrono::April, 1, 3h, Clock::summer}};
constexpr Seasons new_zealand{{chrono::September, 0, 2h, Clock::standard},
                              {chrono::April, 1, 3h, Clock::summer}};

constexpr std::array zones{TimeZone{"UTC", 0min},
                           TimeZone{"Etc/UTC", 0min},
                           TimeZone{"Etc/UCT", 0min},
                           TimeZone{"Etc/Zulu", 0min},
                           TimeZone{"Etc/GMT", 0min},
                           TimeZone{"GMT", 0min},
                           TimeZone{"America/Argentina/Buenos_Aires", -3h},
                           TimeZone{"America/Bogota", -5h},
                           TimeZone{"America/Chicago", -6h, &north_america},
                           TimeZone{"America/Denver", -7h, &north_america},
                           TimeZone{"America/Halifax", -4h, &north_america},
                           TimeZone{"America/Los_Angeles", -8h, &north_america},
                           TimeZone{"America/Mexico_City", -6h},
                           TimeZone{"America/New_York", -5h, &north_america},
                           TimeZone{"America/Phoenix", -7h},
                           TimeZone{"America/Sao_Paulo", -3h},
                           TimeZone{"America/Toronto", -5h, &north_america},
                           TimeZone{"America/Vancouver", -8h, &north_america},
                           TimeZone{"Asia/Bangkok", 7h},
                           TimeZone{"Asia/Calcutta", 5h + 30min},
                           TimeZone{"Asia/Chongqing", 8h},
                           TimeZone{"Asia/Dubai", 4h},
                           TimeZone{"Asia/Ho_Chi_Minh", 7h},
                           TimeZone{"Asia/Hong_Kong", 8h},
                           TimeZone{"Asia/Jakarta", 7h},
                           TimeZone{"Asia/Kolkata", 5h + 30min},
                           TimeZone{"Asia/Kuala_Lumpur", 8h},
                           TimeZone{"Asia/Manila", 8h},
                           TimeZone{"Asia/Riyadh", 3h},
                           TimeZone{"Asia/Seoul", 9h},
                           TimeZone{"Asia/Shanghai", 8h},
                           TimeZone{"Asia/Singapore", 8h},
                           TimeZone{"Asia/Taipei", 8h},
                           TimeZone{"Asia/Tokyo", 9h},
                           TimeZone{"Australia/Adelaide", 9h + 30min, &australia},
                           TimeZone{"Australia/Brisbane", 10h},
                           TimeZone{"Australia/Melbourne", 10h, &australia},
                           TimeZone{"Australia/Sydney", 10h, &australia},
                           TimeZone{"CET", 1h, &europe},
                           TimeZone{"EST5EDT", -5h, &north_america},
                           TimeZone{"Europe/Amsterdam", 1h, &europe},
                           TimeZone{"Europe/Athens", 2h, &europe},
                           TimeZone{"Europe/Berlin", 1h, &europe},
                           TimeZone{"Europe/Brussels", 1h, &europe},
                           TimeZone{"Europe/Helsinki", 2h, &europe},
                           TimeZone{"Europe/Istanbul", 3h},
                           TimeZone{"Europe/Kiev", 2h, &europe},
                           TimeZone{"Europe/Kyiv", 2h, &europe},
                           TimeZone{"Europe/Lisbon", 0h, &europe},
                           TimeZone{"Europe/London", 0h, &europe},
                           TimeZone{"Europe/Madrid", 1h, &europe},
                           TimeZone{"Europe/Moscow", 3h},
                           TimeZone{"Europe/Paris", 1h, &europe},
                           TimeZone{"Europe/Prague", 1h, &europe},
                           TimeZone{"Europe/Rome", 1h, &europe},
                           TimeZone{"Europe/Stockholm", 1h, &europe},
                           TimeZone{"Europe/Vienna", 1h, &europe},
                           TimeZone{"Europe/Warsaw", 1h, &europe},
                           TimeZone{"Europe/Zurich", 1h, &europe},
                           TimeZone{"Japan", 9h},
                           TimeZone{"PRC", 8h},
                           TimeZone{"PST8PDT", -8h, &north_america},
                           TimeZone{"Pacific/Auckland", 12h, &new_zealand},
                           TimeZone{"Singapore", 8h},
                           TimeZone{"US/Central", -6h, &north_america},
                           TimeZone{"US/Eastern", -5h, &north_america},
                           TimeZone{"US/Mountain", -7h, &north_america},
                           TimeZone{"US/Pacific", -8h, &north_america}};

chrono::sys_seconds time_of(const Change& change, chrono::year year, chrono::minutes standard) {
  const chrono::sys_days day =
      change.week == 0 ? chrono::sys_days(year / change.month / chrono::Sunday[chrono::last])
                       : chrono::sys_days(year / change.month / chrono::Sunday[change.week]);
  chrono::sys_seconds at = day + change.hour;
  if (change.clock != Clock::utc) at -= standard;
  if (change.clock == Clock::summer) at -= summer;
  return at;
}

}  // namespace

const TimeZone* TimeZone::find(std::string_view name) {
  const auto found = std::find_if(zones.begin(), zones.end(),
                                  [name](const TimeZone& one) { return one.name_ == name; });
  return found == zones.end() ? nullptr : &*found;
}

const TimeZone& TimeZone::utc() { return zones.front(); }

chrono::minutes TimeZone::offset_at(chrono::sys_seconds at) const {
  if (seasons_ == nullptr) return standard_;
  const chrono::year year =
      chrono::year_month_day(chrono::floor<chrono::days>(at + standard_)).year();
  const auto forward = time_of(seasons_->forward, year, standard_);
  const auto back = time_of(seasons_->back, year, standard_);
  // In the south summer goes over the end of the year.
  const bool is_summer = forward < back ? forward <= at && at < back : forward <= at || at < back;
  return is_summer ? standard_ + summer : standard_;
}

TimeZone::Local TimeZone::local_of(chrono::sys_seconds at) const {
  return Local((at + offset_at(at)).time_since_epoch());
}

chrono::sys_seconds TimeZone::instant_of(Local local) const {
  const chrono::sys_seconds as_utc(local.time_since_epoch());
  return as_utc - offset_at(as_utc - offset_at(as_utc));
}

}  // namespace ddptwin
