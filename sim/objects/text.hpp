#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ios>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "objects/shared_text.hpp"

namespace ddptwin {

// A text of half the room that a std::string takes: up to 15 characters lie inside, those of a
// longer one are memory that its copies share. It does not change: another is put in its place. For
// names, versions, reasons and what else objects say: each is copied many times, and most differ in
// their lengths or in their last characters, which are known here.
class Text {
 public:
  Text() = default;
  template <std::convertible_to<std::string_view> Other>
  requires(!std::is_same_v<Other, Text>) Text(const Other& text)  // NOLINT: stands for the text
      : Text(make({std::string_view(text)})) {}
  // The parts in one text, in one piece of memory.
  static Text of(std::initializer_list<std::string_view> parts) { return make(parts); }

  Text(const Text& other) : bytes_(other.bytes_) {
    if (is_long()) characters()->add();
  }
  Text(Text&& other) noexcept : bytes_(std::exchange(other.bytes_, Bytes{})) {}
  Text& operator=(const Text& other) { return *this = Text(other); }
  Text& operator=(Text&& other) noexcept {
    const Text before(std::move(*this));
    bytes_ = std::exchange(other.bytes_, Bytes{});
    return *this;
  }
  ~Text() {
    if (is_long()) text_detail::let_go(characters());
  }

  std::string_view view() const {
    if (!is_long()) return {bytes_.data(), static_cast<unsigned char>(bytes_.back())};
    return {characters()->begin(), long_size()};
  }
  operator std::string_view() const { return view(); }  // NOLINT: stands for the text
  std::string str() const { return std::string(view()); }
  bool empty() const { return bytes_.back() == 0; }
  std::size_t size() const {
    return is_long() ? long_size() : static_cast<unsigned char>(bytes_.back());
  }
  bool starts_with(std::string_view text) const { return view().starts_with(text); }
  bool ends_with(std::string_view text) const { return view().ends_with(text); }

  // A text has one form. So two that differ in what lies inside are the same only if both are long,
  // of one length and end alike.
  friend bool operator==(const Text& a, const Text& b) {
    const std::uint64_t tail = a.word(1);
    if (tail != b.word(1)) return false;
    if (a.word(0) == b.word(0)) return true;
    return a.is_long() &&
           std::memcmp(a.characters()->begin(), b.characters()->begin(), a.long_size()) == 0;
  }
  template <std::convertible_to<std::string_view> Other>
  friend bool operator==(const Text& a, const Other& b) {
    return a.view() == std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const Text& a, const Text& b) {
    return a.bytes_ == b.bytes_ ? std::strong_ordering::equal : a.view() <=> b.view();
  }
  template <std::convertible_to<std::string_view> Other>
  friend std::strong_ordering operator<=>(const Text& a, const Other& b) {
    return a.view() <=> std::string_view(b);
  }
  friend std::string operator+(std::string a, const Text& b) {
    return std::move(a.append(b.view()));
  }
  friend std::string operator+(const Text& a, std::string_view b) {
    return std::move(a.str().append(b));
  }
  template <std::derived_from<std::ios_base> Stream>
  friend Stream& operator<<(Stream& out, const Text& text) {
    out << text.view();
    return out;
  }

 private:
  using Characters = text_detail::Characters;
  // Characters and zeros, then their number; or, where that is long_mark: a Characters*, its size
  // and its last three characters.
  using Bytes = std::array<char, 16>;
  static constexpr std::size_t short_max = 15, size_at = 8, end_at = 12, end_size = 3;
  static constexpr char long_mark = '\x7f';

  static Text make(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    Text made;
    if (size <= short_max) {
      char* at = made.bytes_.data();
      for (const std::string_view part : parts) at += part.copy(at, part.size());
      made.bytes_.back() = static_cast<char>(size);
      return made;
    }
    Characters* shared = Characters::make(size);
    char* at = shared->begin();
    for (const std::string_view part : parts) at += part.copy(at, part.size());
    const auto short_size = static_cast<std::uint32_t>(size);
    std::memcpy(made.bytes_.data(), &shared, sizeof shared);
    std::memcpy(&made.bytes_[size_at], &short_size, sizeof short_size);
    std::memcpy(&made.bytes_[end_at], at - end_size, end_size);
    made.bytes_.back() = long_mark;
    return made;
  }

  bool is_long() const { return bytes_.back() == long_mark; }
  Characters* characters() const {
    Characters* shared = nullptr;
    std::memcpy(&shared, bytes_.data(), sizeof shared);
    return shared;
  }
  std::size_t long_size() const {
    std::uint32_t size = 0;
    std::memcpy(&size, &bytes_[size_at], sizeof size);
    return size;
  }
  std::uint64_t word(std::size_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, &bytes_[8 * place], sizeof value);
    return value;
  }

  alignas(std::uint64_t) Bytes bytes_{};
};

}  // namespace ddptwin
