#include "objects/quantity.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace ddptwin {
namespace {

constexpr int128 nano = 1'000'000'000;
constexpr int128 max_value = std::numeric_limits<std::int64_t>::max();

struct Suffix {
  std::string_view text;
  Quantity::Format format;
  int128 nanos;  // what one of it is
};

constexpr int128 power(int128 base, int exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

using enum Quantity::Format;
// Greatest first within each notation: the canonical text takes the first that divides.
constexpr std::array suffixes{
    Suffix{"Ei", binary_si, nano* power(1024, 6)},
    Suffix{"Pi", binary_si, nano* power(1024, 5)},
    Suffix{"Ti", binary_si, nano* power(1024, 4)},
    Suffix{"Gi", binary_si, nano* power(1024, 3)},
    Suffix{"Mi", binary_si, nano* power(1024, 2)},
    Suffix{"Ki", binary_si, nano * 1024},
    Suffix{"E", decimal_si, nano* power(10, 18)},
    Suffix{"P", decimal_si, nano* power(10, 15)},
    Suffix{"T", decimal_si, nano* power(10, 12)},
    Suffix{"G", decimal_si, nano* power(10, 9)},
    Suffix{"M", decimal_si, nano* power(10, 6)},
    Suffix{"k", decimal_si, nano * 1000},
    Suffix{"", decimal_si, nano},
    Suffix{"m", decimal_si, nano / 1000},
    Suffix{"u", decimal_si, nano / 1'000'000},
    Suffix{"n", decimal_si, 1},
};

std::string digits(int128 value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string text;
  for (int128 rest = negative ? -value : value; rest > 0; rest /= 10)
    text.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  if (negative) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text;
}

int128 divide_up(int128 value, int128 by) {
  const int128 quotient = value / by;
  return value % by > 0 ? quotient + 1 : quotient;
}

tl::unexpected<Error> not_a_quantity() {
  return fail(Reason::bad_request,
              "quantities must match the regular expression "
              "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}
// Letters that suffixes are made of, then at most a sign and digits.
bool looks_like_suffix(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("eEinumkKMGTP"), text.size()));
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}
tl::unexpected<Error> bad_suffix() {
  return fail(Reason::bad_request, "unable to parse quantity's suffix");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr int128 cap = max_value * nano;  // the API's largest amount

// What stands behind the digits.
struct Unit {
  Quantity::Format format = decimal_si;
  int128 nanos = nano;  // what one of it is
  int exponent = 0;     // times ten to this
};

// "e-3", "E21": at most two digits.
Result<int> exponent_of(std::string_view text) {
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 2) return bad_suffix();
  int exponent = 0;
  for (const char c : text) {
    if (!is_digit(c)) return bad_suffix();
    exponent = exponent * 10 + (c - '0');
  }
  return negative ? -exponent : exponent;
}

Result<Unit> unit_of(std::string_view text) {
  for (const Suffix& suffix : suffixes)
    if (suffix.text == text) return Unit{suffix.format, suffix.nanos, 0};
  if (!text.starts_with('e') && !text.starts_with('E')) return bad_suffix();
  TRY(const int exponent, exponent_of(text));
  return Unit{decimal_exponent, nano, exponent};
}

// Digits as a number times ten to an exponent.
struct Decimal {
  int128 mantissa = 0;
  int exponent = 0;
  bool more = false;  // digits followed that the mantissa has no room for
};

Decimal decimal_of(std::string_view number) {
  constexpr int128 full = power(10, 36);
  Decimal out;
  bool after_point = false;
  for (const char c : number) {
    if (c == '.') {
      after_point = true;
    } else if (out.mantissa < full) {
      out.mantissa = out.mantissa * 10 + (c - '0');
      if (after_point) --out.exponent;
    } else {
      out.more = out.more || c != '0';
      if (!after_point) ++out.exponent;
    }
  }
  return out;
}

// In the notations of tens: exact, beyond nine decimals rounded up, as upstream does.
int128 decimal_nanos(std::string_view number, const Unit& unit) {
  Decimal value = decimal_of(number);
  value.exponent += unit.exponent;
  for (int128 nanos = unit.nanos; nanos > 1; nanos /= 10) ++value.exponent;
  for (; value.exponent > 0 && value.mantissa <= cap; --value.exponent) value.mantissa *= 10;
  for (; value.exponent < 0 && value.mantissa > 0; ++value.exponent) {
    value.more = value.more || value.mantissa % 10 != 0;
    value.mantissa /= 10;
  }
  return std::min(value.mantissa + (value.more ? 1 : 0), cap);
}

// In the binary notation: of the decimals fifteen count, and they are rounded up.
int128 binary_nanos(std::string_view number, int128 unit) {
  const std::size_t point = std::min(number.find('.'), number.size());
  int128 whole = 0, fraction = 0, scale = 1;
  for (const char c : number.substr(0, point))
    if (whole <= cap) whole = whole * 10 + (c - '0');
  for (const char c : number.substr(std::min(point + 1, number.size()), 15)) {
    fraction = fraction * 10 + (c - '0');
    scale *= 10;
  }
  if (whole > 0 && unit > cap / whole) return cap;
  const int128 rest =
      unit > power(10, 23) ? fraction * (unit / scale) : divide_up(fraction * unit, scale);
  return std::min(whole * unit + rest, cap);
}

}  // namespace

Quantity Quantity::from_nanos(int128 nanos, Format format) {
  Quantity q;
  q.nanos_ = nanos;
  q.format_ = format;
  return q;
}
Quantity Quantity::of(std::int64_t value, Format format) {
  return from_nanos(value * nano, format);
}
Quantity Quantity::milli(std::int64_t value) { return from_nanos(value * (nano / 1000)); }

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return not_a_quantity();
  std::size_t at = 0;
  const bool negative = text[0] == '-';
  if (text[0] == '-' || text[0] == '+') ++at;
  std::string_view number = text.substr(at);
  number = number.substr(0, number.find_first_not_of("0123456789."));
  if (number.empty() || number == "." || std::count(number.begin(), number.end(), '.') > 1)
    return not_a_quantity();
  const std::string_view rest = text.substr(at + number.size());
  if (!looks_like_suffix(rest)) return not_a_quantity();

  TRY(const Unit unit, unit_of(rest));
  const int128 nanos =
      unit.format == binary_si ? binary_nanos(number, unit.nanos) : decimal_nanos(number, unit);
  return from_nanos(negative ? -nanos : nanos, unit.format);
}

std::string Quantity::str() const {
  if (nanos_ == 0) return "0";
  const int128 magnitude = nanos_ < 0 ? -nanos_ : nanos_;
  if (format_ == decimal_exponent) {
    int128 rest = magnitude;
    int exponent = -9;
    while (rest % 1000 == 0) {
      rest /= 1000;
      exponent += 3;
    }
    return digits(nanos_ < 0 ? -rest : rest) +
           (exponent == 0 ? "" : "e" + std::to_string(exponent));
  }
  // Fractions, and amounts below 1024, have no binary text.
  const bool binary = format_ == binary_si && magnitude % nano == 0 && magnitude >= 1024 * nano;
  for (const Suffix& s : suffixes) {
    if (s.format == binary_si && !binary) continue;
    if (s.format == decimal_si && binary && s.nanos > nano) continue;
    if (nanos_ % s.nanos == 0) return digits(nanos_ / s.nanos) + std::string(s.text);
  }
  return digits(nanos_) + "n";
}

std::int64_t Quantity::value() const { return static_cast<std::int64_t>(divide_up(nanos_, nano)); }
std::int64_t Quantity::milli_value() const {
  return static_cast<std::int64_t>(std::min(divide_up(nanos_, nano / 1000), max_value));
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (nanos_ == 0) format_ = other.format_;
  nanos_ += other.nanos_;
  return *this;
}
Quantity& Quantity::operator-=(const Quantity& other) {
  if (nanos_ == 0) format_ = other.format_;
  nanos_ -= other.nanos_;
  return *this;
}

bool is_plain_quantity(std::string_view text) {
  const auto digits_end = std::find_if_not(text.begin(), text.end(), &is_digit);
  const std::string_view unit = text.substr(static_cast<std::size_t>(digits_end - text.begin()));
  return unit.size() < text.size() &&
         std::any_of(suffixes.begin(), suffixes.end(),
                     [unit](const Suffix& suffix) { return suffix.text == unit; });
}

}  // namespace ddptwin
