#include "core/time.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace ddptwin {
namespace {

using std::chrono::days;
using std::chrono::duration_cast;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Civil {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<Duration> clock;
};

Civil civil(Time time) {
  const auto since = time.since_epoch();
  const auto day = floor<days>(since);
  return {std::chrono::year_month_day{std::chrono::sys_days{day}},
          std::chrono::hh_mm_ss{since - day}};
}

// Reads exactly `digits` decimal digits at `at`.
std::optional<int> fixed_int(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Right-aligned, with zeros before it, as many digits as fit.
void write_digits(char* to, int digits, unsigned value) {
  for (; digits-- > 0; value /= 10) to[digits] = static_cast<char>('0' + value % 10);
}

struct Unit {
  std::string_view name;
  double nanoseconds;
};
constexpr std::array units{Unit{"ns", 1},  Unit{"us", 1e3}, Unit{"µs", 1e3},  Unit{"ms", 1e6},
                           Unit{"s", 1e9}, Unit{"m", 60e9}, Unit{"h", 3600e9}};

}  // namespace

std::string format_rfc3339(Time time) {
  const Civil c = civil(time.floor_seconds());
  // A Time holds the years 1677 to 2262.
  std::string text = "0000-00-00T00:00:00Z";
  write_digits(&text[0], 4, static_cast<unsigned>(static_cast<int>(c.date.year())));
  write_digits(&text[5], 2, static_cast<unsigned>(c.date.month()));
  write_digits(&text[8], 2, static_cast<unsigned>(c.date.day()));
  write_digits(&text[11], 2, static_cast<unsigned>(c.clock.hours().count()));
  write_digits(&text[14], 2, static_cast<unsigned>(c.clock.minutes().count()));
  write_digits(&text[17], 2, static_cast<unsigned>(c.clock.seconds().count()));
  return text;
}

std::string format_rfc3339_micro(Time time) {
  std::string text = format_rfc3339(time);
  const auto since = time.since_epoch();
  const auto micro = floor<microseconds>(since - floor<seconds>(since)).count();
  text.pop_back();
  return text + fmt::format(".{:06}Z", micro);
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  const auto year = fixed_int(text, 0, 4), month = fixed_int(text, 5, 2),
             day = fixed_int(text, 8, 2);
  const auto hour = fixed_int(text, 11, 2), minute = fixed_int(text, 14, 2),
             second = fixed_int(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  std::size_t at = 19;
  std::int64_t nanos = 0;
  if (at < text.size() && text[at] == '.') {
    std::int64_t scale = 100'000'000;
    const std::size_t first = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10)
      nanos += (text[at] - '0') * scale;
    if (at == first) return std::nullopt;
  }
  Duration offset{0};
  if (at >= text.size()) return std::nullopt;
  if (text[at] == 'Z' || text[at] == 'z') {
    ++at;
  } else if (text[at] == '+' || text[at] == '-') {
    const auto oh = fixed_int(text, at + 1, 2), om = fixed_int(text, at + 4, 2);
    if (!oh || !om || text[at + 3] != ':') return std::nullopt;
    offset = hours(*oh) + minutes(*om);
    if (text[at] == '-') offset = -offset;
    at += 6;
  }
  if (at != text.size()) return std::nullopt;
  const Duration since = std::chrono::sys_days{date}.time_since_epoch() + hours(*hour) +
                         minutes(*minute) + seconds(*second) + Duration(nanos);
  return Time(since - offset);
}

std::string format_go_duration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  std::string sign = duration < Duration::zero() ? "-" : "";
  const Duration d = duration < Duration::zero() ? -duration : duration;
  const auto decimals = [](double value) {
    std::string text = fmt::format("{:.9f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  };
  if (d < 1us) return sign + fmt::format("{}ns", d.count());
  if (d < 1ms) return sign + decimals(static_cast<double>(d.count()) / 1e3) + "µs";
  if (d < 1s) return sign + decimals(static_cast<double>(d.count()) / 1e6) + "ms";
  const auto h = duration_cast<hours>(d);
  const auto m = duration_cast<minutes>(d - h);
  const Duration rest = d - h - m;
  std::string text = sign;
  if (h.count() > 0) text += fmt::format("{}h", h.count());
  if (h.count() > 0 || m.count() > 0) text += fmt::format("{}m", m.count());
  return text + decimals(static_cast<double>(rest.count()) / 1e9) + "s";
}

std::optional<Duration> parse_go_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool negative = text.front() == '-';
  if (text.front() == '-' || text.front() == '+') text.remove_prefix(1);
  if (text == "0") return Duration::zero();
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto name = text.substr(0, text.find_first_of("0123456789."));
    const Unit* unit = nullptr;
    for (const Unit& u : units)
      if (u.name == name) unit = &u;
    if (unit == nullptr) return std::nullopt;
    total += value * unit->nanoseconds;
    text.remove_prefix(name.size());
  }
  if (!std::isfinite(total) || total > 9.2e18) return std::nullopt;
  return Duration(static_cast<std::int64_t>(std::llround(negative ? -total : total)));
}

std::string format_age(Duration age) {
  // The thresholds of apimachinery's HumanDuration (spec/kubernetes.md section 1.12).
  const auto s = duration_cast<seconds>(age).count();
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  if (s < 120) return fmt::format("{}s", s);
  const auto m = s / 60;
  if (m < 10) return s % 60 == 0 ? fmt::format("{}m", m) : fmt::format("{}m{}s", m, s % 60);
  if (m < 180) return fmt::format("{}m", m);
  const auto h = m / 60;
  if (h < 8) return m % 60 == 0 ? fmt::format("{}h", h) : fmt::format("{}h{}m", h, m % 60);
  if (h < 48) return fmt::format("{}h", h);
  const auto d = h / 24;
  if (h < 24 * 8) return h % 24 == 0 ? fmt::format("{}d", d) : fmt::format("{}d{}h", d, h % 24);
  if (h < 24 * 365 * 2) return fmt::format("{}d", d);
  const auto y = d / 365;
  if (h < 24 * 365 * 8)
    return d % 365 == 0 ? fmt::format("{}y", y) : fmt::format("{}y{}d", y, d % 365);
  return fmt::format("{}y", y);
}

}  // namespace ddptwin
