// Instants and spans of a world. No function here reads a clock: the time comes from Loop::now().
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddptwin {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

// An instant, in nanoseconds since 1970-01-01T00:00:00Z. The default is that epoch.
class Time {
 public:
  constexpr Time() = default;
  constexpr explicit Time(Duration since_epoch) : since_epoch_(since_epoch) {}

  constexpr Duration since_epoch() const { return since_epoch_; }
  // The same instant cut to whole seconds, as metav1.Time keeps it on the wire.
  constexpr Time floor_seconds() const {
    return Time(std::chrono::floor<std::chrono::seconds>(since_epoch_));
  }
  constexpr Time floor_microseconds() const {
    return Time(std::chrono::floor<std::chrono::microseconds>(since_epoch_));
  }

  friend constexpr Time operator+(Time t, Duration d) { return Time(t.since_epoch_ + d); }
  friend constexpr Time operator-(Time t, Duration d) { return Time(t.since_epoch_ - d); }
  friend constexpr Duration operator-(Time a, Time b) { return a.since_epoch_ - b.since_epoch_; }
  constexpr auto operator<=>(const Time&) const = default;

 private:
  Duration since_epoch_{0};
};

// A std::optional<Time> in the room of a Time: objects have many.
class OptionalTime {
 public:
  using value_type = Time;

  constexpr OptionalTime() = default;
  constexpr OptionalTime(std::nullopt_t) {}                // NOLINT: absent
  constexpr OptionalTime(Time time) : time_(time) {}       // NOLINT: stands for it
  constexpr OptionalTime(const std::optional<Time>& time)  // NOLINT: the same
      : time_(time.value_or(absent)) {}
  constexpr operator std::optional<Time>() const {  // NOLINT: the same
    return has_value() ? std::optional(time_) : std::nullopt;
  }

  constexpr bool has_value() const { return time_ != absent; }
  constexpr explicit operator bool() const { return has_value(); }
  // Precondition: has_value().
  constexpr const Time& operator*() const { return time_; }
  constexpr Time& operator*() { return time_; }
  constexpr const Time* operator->() const { return &time_; }
  constexpr Time value_or(Time other) const { return has_value() ? time_ : other; }
  constexpr Time& emplace() { return time_ = Time(); }
  constexpr void reset() { time_ = absent; }

  // What is absent comes first, as with std::optional.
  constexpr auto operator<=>(const OptionalTime&) const = default;
  constexpr bool operator==(const OptionalTime&) const = default;
  friend constexpr bool operator==(const OptionalTime& a, const std::optional<Time>& b) {
    return a == OptionalTime(b);
  }
  friend constexpr bool operator==(const OptionalTime& a, const Time& b) { return a.time_ == b; }

 private:
  static constexpr Time absent{Duration::min()};  // long before all that can be written
  Time time_ = absent;
};

// RFC 3339 in UTC: whole seconds (metav1.Time), or always six decimals (metav1.MicroTime).
std::string format_rfc3339(Time time);
std::string format_rfc3339_micro(Time time);
// Any RFC 3339 date-time, with offset and any number of decimals; nothing when it is not one.
std::optional<Time> parse_rfc3339(std::string_view text);

// Go's time.Duration text: "1m30s", "300ms", "0s".
std::string format_go_duration(Duration duration);
// "90s", "1m30s", "250ms", "1h"; nothing when it is not one.
std::optional<Duration> parse_go_duration(std::string_view text);
// Kubernetes' age text (kubectl's AGE column): "5s", "2m3s", "3h12m", "6d".
std::string format_age(Duration age);

constexpr double seconds_of(Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace ddptwin
