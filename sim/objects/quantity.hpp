// resource.Quantity: "500m", "1Gi", "2e3" (spec/kubernetes.md section 1; Kubernetes API
// conventions).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ddptwin {

__extension__ typedef __int128 int128;

// An amount with nine decimals, and the notation it was written in, which its canonical text keeps.
class Quantity {
 public:
  enum class Format : std::uint8_t { decimal_si, binary_si, decimal_exponent };

  constexpr Quantity() = default;
  static Quantity from_nanos(int128 nanos, Format format = Format::decimal_si);
  static Quantity of(std::int64_t value, Format format = Format::decimal_si);
  static Quantity milli(std::int64_t value);
  // Refuses what the API refuses, in its words.
  static Result<Quantity> parse(std::string_view text);

  // Canonical text: no fraction, the largest suffix that keeps it exact.
  std::string str() const;
  std::int64_t value() const;        // rounded up, as Quantity.Value()
  std::int64_t milli_value() const;  // rounded up, as Quantity.MilliValue()
  int128 nanos() const { return nanos_; }
  Format format() const { return format_; }
  bool zero() const { return nanos_ == 0; }

  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nanos_ < b.nanos_   ? std::strong_ordering::less
           : a.nanos_ > b.nanos_ ? std::strong_ordering::greater
                                 : std::strong_ordering::equal;
  }

 private:
  int128 nanos_ = 0;
  Format format_ = Format::decimal_si;
};

// What definitions of custom resources ask of an amount that is written as a text.
inline constexpr std::string_view quantity_pattern =
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\."
    "[0-9]*)?)|(\\.[0-9]+))))?$";
// Whether it is digits and perhaps a suffix, as nearly all amounts are: that pattern matches it.
bool is_plain_quantity(std::string_view text);

using ResourceList = std::map<std::string, Quantity, std::less<>>;

}  // namespace ddptwin
