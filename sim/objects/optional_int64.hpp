#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

namespace ddptwin {

// A std::optional<std::int64_t> in the room of its number, for generations and spans of time that
// every object has room for: the least of all numbers, which nobody writes, stands for none.
class OptionalInt64 {
 public:
  using value_type = std::int64_t;

  constexpr OptionalInt64() = default;
  constexpr OptionalInt64(std::nullopt_t) {}                         // NOLINT: absent
  constexpr OptionalInt64(std::int64_t number) : number_(number) {}  // NOLINT: stands for it

  constexpr bool has_value() const { return number_ != absent; }
  constexpr explicit operator bool() const { return has_value(); }
  // Precondition: has_value().
  constexpr const std::int64_t& operator*() const { return number_; }
  constexpr std::int64_t& operator*() { return number_; }
  constexpr std::int64_t value_or(std::int64_t other) const {
    return has_value() ? number_ : other;
  }
  constexpr std::int64_t& emplace() { return number_ = 0; }
  constexpr void reset() { number_ = absent; }

  // What is absent comes first, as with std::optional.
  constexpr auto operator<=>(const OptionalInt64&) const = default;

 private:
  static constexpr std::int64_t absent = std::numeric_limits<std::int64_t>::min();
  std::int64_t number_ = absent;
};

}  // namespace ddptwin
