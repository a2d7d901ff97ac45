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

  Format format = decimal_si;
  int128 unit = nano;
  int exponent = 0;
  const auto suffix = std::find_if(suffixes.begin(), suffixes.end(),
                                   [&](const Suffix& s) { return s.text == rest; });
  if (suffix != suffixes.end()) {
    format = suffix->format;
    unit = suffix->nanos;
  } else if (!rest.empty() && (rest[0] == 'e' || rest[0] == 'E') && rest.size() > 1) {
    std::size_t i = 1;
    const bool minus = rest[1] == '-';
    if (rest[1] == '-' || rest[1] == '+') ++i;
    if (i == rest.size() || rest.size() - i > 2) return bad_suffix();
    for (; i < rest.size(); ++i) {
      if (rest[i] < '0' || rest[i] > '9') return bad_suffix();
      exponent = exponent * 10 + (rest[i] - '0');
    }
    if (minus) exponent = -exponent;
    format = decimal_exponent;
  } else {
    return bad_suffix();
  }

  // Whole digits are worth `unit` each; each decimal a tenth of the one before. Beyond the API's
  // largest value the amount is capped, beyond nine decimals rounded up, as upstream does.
  int128 whole = 0, fraction = 0, scale = 1;
  const int128 cap = max_value * nano;
  bool after_point = false;
  for (const char c : number) {
    if (c == '.') {
      after_point = true;
    } else if (!after_point) {
      if (whole <= cap) whole = whole * 10 + (c - '0');
    } else if (scale < power(10, 15)) {
      fraction = fraction * 10 + (c - '0');
      scale *= 10;
    }
  }
  for (; exponent > 0 && unit <= cap; --exponent) unit *= 10;
  int128 divisor = 1;
  for (; exponent < 0 && divisor <= power(10, 18); ++exponent) divisor *= 10;
  int128 nanos = 0;
  if (whole > 0 && unit > cap / whole) {
    nanos = cap;
  } else {
    nanos = divide_up(whole * unit, divisor);
    nanos += unit > power(10, 23) ? (fraction * (unit / scale)) / divisor
                                  : divide_up(divide_up(fraction * unit, scale), divisor);
  }
  nanos = std::min(nanos, cap);
  return from_nanos(negative ? -nanos : nanos, format);
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

}  // namespace ddptwin
