#include "objects/yaml_scalar.hpp"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>
#include <string>

namespace ddptwin {
namespace {

enum class Word : std::uint8_t { yes, no, null, not_json };
struct WordRow {
  std::string_view text;
  Word word;
};
constexpr std::array words{
    WordRow{"y", Word::yes},          WordRow{"Y", Word::yes},
    WordRow{"yes", Word::yes},        WordRow{"Yes", Word::yes},
    WordRow{"YES", Word::yes},        WordRow{"true", Word::yes},
    WordRow{"True", Word::yes},       WordRow{"TRUE", Word::yes},
    WordRow{"on", Word::yes},         WordRow{"On", Word::yes},
    WordRow{"ON", Word::yes},         WordRow{"n", Word::no},
    WordRow{"N", Word::no},           WordRow{"no", Word::no},
    WordRow{"No", Word::no},          WordRow{"NO", Word::no},
    WordRow{"false", Word::no},       WordRow{"False", Word::no},
    WordRow{"FALSE", Word::no},       WordRow{"off", Word::no},
    WordRow{"Off", Word::no},         WordRow{"OFF", Word::no},
    WordRow{"", Word::null},          WordRow{"~", Word::null},
    WordRow{"null", Word::null},      WordRow{"Null", Word::null},
    WordRow{"NULL", Word::null},      WordRow{".nan", Word::not_json},
    WordRow{".NaN", Word::not_json},  WordRow{".NAN", Word::not_json},
    WordRow{".inf", Word::not_json},  WordRow{".Inf", Word::not_json},
    WordRow{".INF", Word::not_json},  WordRow{"+.inf", Word::not_json},
    WordRow{"+.Inf", Word::not_json}, WordRow{"+.INF", Word::not_json},
    WordRow{"-.inf", Word::not_json}, WordRow{"-.Inf", Word::not_json},
    WordRow{"-.INF", Word::not_json},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Date shapes stay text even where their digits could be read otherwise (2024-01-02).
bool looks_like_date(std::string_view text) {
  return text.size() > 4 && std::all_of(text.begin(), text.begin() + 4, is_digit) && text[4] == '-';
}

// Digits with the prefixes of Go's strconv base 0: 0x, 0o, 0b, a leading 0 for octal.
int take_base(std::string_view& digits) {
  struct Prefix {
    std::string_view text;
    int base;
  };
  constexpr std::array prefixes{Prefix{"0x", 16}, Prefix{"0X", 16}, Prefix{"0o", 8},
                                Prefix{"0O", 8},  Prefix{"0b", 2},  Prefix{"0B", 2}};
  for (const Prefix& prefix : prefixes) {
    if (!digits.starts_with(prefix.text)) continue;
    digits.remove_prefix(prefix.text.size());
    return prefix.base;
  }
  return digits.size() > 1 && digits.front() == '0' ? 8 : 10;
}

std::optional<boost::json::value> integer(std::string_view text) {
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  const int base = take_base(text);
  std::uint64_t magnitude = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, magnitude, base);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  constexpr std::uint64_t lowest = std::uint64_t{1} << 63;
  if (negative)
    return magnitude <= lowest ? std::optional<boost::json::value>(
                                     static_cast<std::int64_t>(std::uint64_t{0} - magnitude))
                               : std::nullopt;
  if (magnitude < lowest) return static_cast<std::int64_t>(magnitude);
  return magnitude;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_float(std::string_view text) {
  auto skip_digits = [&text] {
    const std::size_t count = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    text.remove_prefix(count);
    return count;
  };
  auto skip_sign = [&text] {
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  };
  skip_sign();
  const std::size_t before = skip_digits();
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    if (skip_digits() + before == 0) return false;
  } else if (before == 0) {
    return false;
  }
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  skip_sign();
  return skip_digits() > 0 && text.empty();
}

// As Go writes a float64 into JSON: a whole one loses its point, so "1e3" may stand for an integer.
// Nothing beyond the range of one.
std::optional<boost::json::value> number(std::string_view text) {
  if (text.front() == '+') text.remove_prefix(1);
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
    return std::nullopt;
  if (std::trunc(value) == value && std::abs(value) < 9e18)
    return boost::json::value(static_cast<std::int64_t>(value));
  return boost::json::value(value);
}

}  // namespace

std::optional<boost::json::value> resolve_plain_scalar(std::string_view text) {
  const auto* word = std::find_if(words.begin(), words.end(),
                                  [text](const WordRow& row) { return row.text == text; });
  if (word != words.end()) {
    if (word->word == Word::not_json) return std::nullopt;
    if (word->word == Word::null) return boost::json::value(nullptr);
    return boost::json::value(word->word == Word::yes);
  }
  const bool numeric =
      is_digit(text.front()) || text.front() == '-' || text.front() == '+' || text.front() == '.';
  if (!numeric || looks_like_date(text)) return boost::json::value(text);
  std::string plain(text);
  if (text.front() != '.') std::erase(plain, '_');
  if (plain.empty()) return boost::json::value(text);
  if (auto value = integer(plain)) return value;
  if (is_float(plain)) {
    if (auto value = number(plain)) return value;
  }
  return boost::json::value(text);
}

}  // namespace ddptwin
