#include "objects/cron_schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

namespace ddptwin {
namespace {

using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> day_names{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};

struct Field {
  unsigned min, max;
  Names names;  // of min and those that follow
};
constexpr Field minute_field{0, 59, {}}, hour_field{0, 23, {}}, day_field{1, 31, {}},
    month_field{1, 12, month_names}, weekday_field{0, 6, day_names};

struct ShortForm {
  std::string_view name, fields;
};
constexpr std::array short_forms{
    ShortForm{"@yearly", "0 0 1 1 *"},  ShortForm{"@annually", "0 0 1 1 *"},
    ShortForm{"@monthly", "0 0 1 * *"}, ShortForm{"@weekly", "0 0 * * 0"},
    ShortForm{"@daily", "0 0 * * *"},   ShortForm{"@midnight", "0 0 * * *"},
    ShortForm{"@hourly", "0 * * * *"}};

std::vector<std::string_view> split(std::string_view text, std::string_view at, bool keep_empty) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(at, begin), text.size());
    if (keep_empty || end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

tl::unexpected<Error> refuse(std::string message) {
  return tl::make_unexpected(Error{.reason = Reason::invalid, .message = std::move(message)});
}

Result<unsigned> number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return refuse(fmt::format(
        "failed to parse int from {}: strconv.Atoi: parsing \"{}\": invalid syntax", text, text));
  if (value < 0) return refuse(fmt::format("negative number ({}) not allowed: {}", value, text));
  return static_cast<unsigned>(value);
}

Result<unsigned> value_in(std::string_view text, const Field& field) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  const auto named = std::find(field.names.begin(), field.names.end(), lower);
  if (named != field.names.end())
    return field.min + static_cast<unsigned>(named - field.names.begin());
  return number_in(text);
}

struct Bits {
  std::uint64_t values = 0;
  bool any = false;  // a star
};

// "4", "*/15", "1-5", "MON-FRI/2".
Result<Bits> range_in(std::string_view text, const Field& field) {
  const auto range_and_step = split(text, "/", true);
  const auto ends = split(range_and_step[0], "-", true);
  Bits bits;
  unsigned first = field.min, last = field.max, step = 1;
  const bool star = ends[0] == "*" || ends[0] == "?";
  if (star) {
    bits.any = true;
  } else {
    TRY(first, value_in(ends[0], field));
    last = first;
    if (ends.size() == 2) {
      TRY(last, value_in(ends[1], field));
    } else if (ends.size() > 2) {
      return refuse(fmt::format("too many hyphens: {}", text));
    }
  }
  if (range_and_step.size() == 2) {
    TRY(step, number_in(range_and_step[1]));
    if (ends.size() == 1 && !star) last = field.max;
    if (step > 1) bits.any = false;
  } else if (range_and_step.size() > 2) {
    return refuse(fmt::format("too many slashes: {}", text));
  }
  if (first < field.min)
    return refuse(
        fmt::format("beginning of range ({}) below minimum ({}): {}", first, field.min, text));
  if (last > field.max)
    return refuse(fmt::format("end of range ({}) above maximum ({}): {}", last, field.max, text));
  if (first > last)
    return refuse(
        fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, text));
  if (step == 0) return refuse(fmt::format("step of range should be a positive number: {}", text));
  for (unsigned value = first; value <= last; value += step) bits.values |= 1ULL << value;
  return bits;
}

Result<Bits> list_in(std::string_view text, const Field& field) {
  Bits bits;
  for (const std::string_view part : split(text, ",", false)) {
    TRY(const Bits one, range_in(part, field));
    bits.values |= one.values;
    bits.any = bits.any || one.any;
  }
  return bits;
}

bool has(std::uint64_t bits, unsigned value) { return (bits >> value & 1U) != 0; }

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  if (text.empty()) return refuse("empty spec string");
  CronSchedule schedule;
  constexpr std::string_view every = "@every ";
  if (text.starts_with(every)) {
    const auto duration = parse_go_duration(text.substr(every.size()));
    if (!duration)
      return refuse(fmt::format("failed to parse duration {}: time: invalid duration \"{}\"", text,
                                text.substr(every.size())));
    schedule.every_ = std::max<Duration>(std::chrono::floor<std::chrono::seconds>(*duration), 1s);
    return schedule;
  }
  std::string_view fields_text = text;
  if (text.front() == '@') {
    const auto found = std::find_if(short_forms.begin(), short_forms.end(),
                                    [text](const ShortForm& one) { return one.name == text; });
    if (found == short_forms.end()) return refuse(fmt::format("unrecognized descriptor: {}", text));
    fields_text = found->fields;
  }
  const auto fields = split(fields_text, " \t\n", false);
  if (fields.size() != 5)
    return refuse(fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(),
                              fmt::join(fields, " ")));
  TRY(const Bits minutes, list_in(fields[0], minute_field));
  TRY(const Bits hours, list_in(fields[1], hour_field));
  TRY(const Bits days, list_in(fields[2], day_field));
  TRY(const Bits months, list_in(fields[3], month_field));
  TRY(const Bits weekdays, list_in(fields[4], weekday_field));
  schedule.minutes_ = minutes.values;
  schedule.hours_ = hours.values;
  schedule.days_ = days.values;
  schedule.months_ = months.values;
  schedule.weekdays_ = weekdays.values;
  schedule.any_day_ = days.any;
  schedule.any_weekday_ = weekdays.any;
  return schedule;
}

// Goes over instants, and looks at each by the clock of the place: an hour that is left out in
// spring is not met, one that comes twice in autumn is met twice (upstream: SpecSchedule.Next).
std::optional<Time> CronSchedule::next(Time after, const TimeZone& zone) const {
  namespace chrono = std::chrono;
  if (every_ > Duration::zero()) return after.floor_seconds() + every_;
  constexpr int years_max = 5;  // then it never comes
  chrono::sys_seconds at{chrono::floor<chrono::minutes>(after.since_epoch()) + 1min};
  const auto date_of = [&zone](chrono::sys_seconds instant) {
    return chrono::year_month_day(chrono::floor<chrono::days>(zone.local_of(instant)));
  };
  const auto last_year = date_of(at).year() + chrono::years(years_max);
  while (true) {
    const TimeZone::Local local = zone.local_of(at);
    const chrono::local_days day = chrono::floor<chrono::days>(local);
    const chrono::year_month_day date(day);
    if (date.year() > last_year) return std::nullopt;
    if (!has(months_, static_cast<unsigned>(date.month()))) {
      const auto month = chrono::year_month(date.year(), date.month()) + chrono::months(1);
      at = zone.instant_of(chrono::local_days(month / 1));
      continue;
    }
    const bool by_day = has(days_, static_cast<unsigned>(date.day()));
    const bool by_weekday = has(weekdays_, chrono::weekday(day).c_encoding());
    const bool is_day = any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
    if (!is_day) {
      at = zone.instant_of(day + chrono::days(1));
      continue;
    }
    const chrono::hh_mm_ss time(local - day);
    if (!has(hours_, static_cast<unsigned>(time.hours().count()))) {
      at += 1h - time.minutes();
      continue;
    }
    if (!has(minutes_, static_cast<unsigned>(time.minutes().count()))) {
      at += 1min;
      continue;
    }
    return Time(at.time_since_epoch());
  }
}

}  // namespace ddptwin
