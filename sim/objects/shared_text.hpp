#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "objects/cow.hpp"

namespace ddptwin {

namespace text_detail {

// The characters of a text, which lie behind it, and how many texts share them.
struct Characters : cow_detail::Sharers {
  static Characters* make(std::size_t size) {
    return new (::operator new(sizeof(Characters) + size)) Characters(size);
  }
  const char* begin() const { return reinterpret_cast<const char*>(this + 1); }
  char* begin() { return reinterpret_cast<char*>(this + 1); }
  const std::uint32_t size;

 private:
  explicit Characters(std::size_t size_) : size(static_cast<std::uint32_t>(size_)) {}
};
inline void let_go(cow_detail::Sharers* shared) {
  if (shared->drop()) ::operator delete(shared);
}

}  // namespace text_detail

// A text whose copies are the same memory, in one piece, where a std::string of more than 15
// characters copies its own. It does not change: another is put in its place. For uids: an object's
// versions, its owner's dependents and all that keep a table of objects name the same ones.
class SharedText {
 public:
  SharedText() = default;
  template <std::convertible_to<std::string_view> Text>
  requires(!std::is_same_v<Text, SharedText>)
      SharedText(const Text& text)  // NOLINT: stands for the text
      : SharedText(make(text)) {}

  std::string_view view() const {
    if (empty()) return {};
    const auto* text = static_cast<const Characters*>(text_.get());
    return {text->begin(), text->size};
  }
  operator std::string_view() const { return view(); }  // NOLINT: stands for the text
  std::string str() const { return std::string(view()); }
  bool empty() const { return text_ == nullptr; }
  std::size_t size() const { return view().size(); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.view() == b.view();
  }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const SharedText& a, const Text& b) {
    return a.view() == std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ ? std::strong_ordering::equal : a.view() <=> b.view();
  }

 private:
  using Characters = text_detail::Characters;
  using Pointer = cow_detail::SharedPointer<&text_detail::let_go>;
  explicit SharedText(Pointer text) : text_(std::move(text)) {}

  static Pointer make(std::string_view text) {
    if (text.empty()) return {};
    Characters* made = Characters::make(text.size());
    text.copy(made->begin(), text.size());
    return Pointer(made);
  }

  Pointer text_;  // null: empty
};

}  // namespace ddptwin
