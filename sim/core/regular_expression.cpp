#include "core/regular_expression.hpp"

#include <cstddef>

namespace ddptwin {
namespace {

constexpr std::size_t digits_max = 9;

// Whether a repetition, {n,m}, or a backslash is followed by a number too long.
bool has_long_number(const std::string& pattern) {
  bool in_number = false, in_braces = false, escaped = false;
  std::size_t digits = 0;
  for (const char c : pattern) {
    if (c >= '0' && c <= '9') {
      in_number = in_number || in_braces || escaped;
      if (in_number && ++digits > digits_max) return true;
    } else {
      in_braces = !escaped && (c == '{' || (c == ',' && in_braces));
      in_number = false;
      digits = 0;
    }
    escaped = c == '\\' && !escaped;
  }
  return false;
}

}  // namespace

Result<std::regex> regular_expression(const std::string& pattern) {
  if (has_long_number(pattern)) return fail(Reason::bad_input, "a number in it is too long");
  try {
    return std::regex(pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return fail(Reason::bad_input, error.what());
  }
}

}  // namespace ddptwin
