// How clocks of places stand to UTC, with the seasons by the rules of 2026 (IANA's tzdata); the
// host's own data is not asked, that a run be the same everywhere.
#pragma once

#include <chrono>
#include <string_view>

#include "core/time.hpp"

namespace ddptwin {

// When clocks are put forward and back in a year.
struct Seasons;

class TimeZone {
 public:
  using Local = std::chrono::local_seconds;

  constexpr TimeZone(std::string_view name, std::chrono::minutes standard,
                     const Seasons* seasons = nullptr)
      : name_(name), standard_(standard), seasons_(seasons) {}

  // By its IANA name; null: nobody knows it here.
  static const TimeZone* find(std::string_view name);
  static const TimeZone& utc();

  std::string_view name() const { return name_; }
  std::chrono::minutes offset_at(std::chrono::sys_seconds at) const;
  Local local_of(std::chrono::sys_seconds at) const;
  // Of a time that does not exist, or comes twice, as Go's time.Date chooses.
  std::chrono::sys_seconds instant_of(Local local) const;

 private:
  std::string_view name_;
  std::chrono::minutes standard_;
  const Seasons* seasons_;
};

}  // namespace ddptwin
