#include "core/numbers.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ddptwin {
namespace {

template <class Number, class... Base>
std::optional<Number> whole(std::string_view text, Base... base) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  return whole<Number>(text);
}

std::optional<std::int64_t> whole_number_in(int base, std::string_view text) {
  return whole<std::int64_t>(text, base);
}

template <class Integer>
tl::expected<Integer, std::string_view> go_integer(std::string_view text) {
  using Unsigned = std::make_unsigned_t<Integer>;
  constexpr std::string_view syntax = "invalid syntax", range = "value out of range";
  const bool negative = std::is_signed_v<Integer> && text.starts_with('-');
  if (negative || (std::is_signed_v<Integer> && text.starts_with('+'))) text.remove_prefix(1);
  Unsigned value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // Go stops at the digit that is too much for the unsigned type, whatever follows it; that the
  // signed one is smaller is seen at the end.
  if (error == std::errc::result_out_of_range) return tl::unexpected(range);
  if (error != std::errc{} || stop != end) return tl::unexpected(syntax);
  const auto most = static_cast<Unsigned>(std::numeric_limits<Integer>::max());
  if (value > (negative ? most + 1 : most)) return tl::unexpected(range);
  return static_cast<Integer>(negative ? Unsigned{0} - value : value);
}

template <class Integer>
std::optional<Integer> take_number(std::string_view& text) {
  if (text.starts_with('-')) return std::nullopt;
  Integer value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

template std::optional<int> whole_number(std::string_view);
template std::optional<std::int64_t> whole_number(std::string_view);
template std::optional<std::uint64_t> whole_number(std::string_view);
template std::optional<double> whole_number(std::string_view);

template tl::expected<int, std::string_view> go_integer(std::string_view);
template tl::expected<std::int64_t, std::string_view> go_integer(std::string_view);
template tl::expected<std::uint64_t, std::string_view> go_integer(std::string_view);

template std::optional<int> take_number(std::string_view&);
template std::optional<std::int64_t> take_number(std::string_view&);
template std::optional<std::uint64_t> take_number(std::string_view&);

}  // namespace ddptwin
