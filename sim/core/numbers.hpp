// Numbers in texts, whatever the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>

namespace ddptwin {

// Each is there for int, std::int64_t, std::uint64_t and double, where it says nothing else.

// The whole text as a number that fits: no blanks, no '+', and '-' only where Number has a sign.
template <class Number>
std::optional<Number> whole_number(std::string_view text);
// The same of an integer in another base (2 to 36; std::int64_t only).
std::optional<std::int64_t> whole_number_in(int base, std::string_view text);

// As Go's strconv.ParseInt, ParseUint and Atoi read a decimal integer, so with a '+' where Integer
// has a sign. The error is Go's: "invalid syntax" or "value out of range". Not for double.
template <class Integer>
tl::expected<Integer, std::string_view> go_integer(std::string_view text);

// Takes the digits that the text begins with off its front. Where it begins with none, or their
// number does not fit, nothing is taken. Not for double.
template <class Integer>
std::optional<Integer> take_number(std::string_view& text);

}  // namespace ddptwin
