#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "objects/cow.hpp"

namespace ddptwin {

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
  // The characters lie behind it.
  struct Characters : cow_detail::Sharers {
    explicit Characters(std::size_t size_) : size(size_) {}
    const char* begin() const { return reinterpret_cast<const char*>(this + 1); }
    std::size_t size;
  };
  static void let_go(cow_detail::Sharers* shared) {
    if (shared->drop()) ::operator delete(shared);
  }
  using Pointer = cow_detail::SharedPointer<&SharedText::let_go>;
  explicit SharedText(Pointer text) : text_(std::move(text)) {}

  static Pointer make(std::string_view text) {
    if (text.empty()) return {};
    void* room = ::operator new(sizeof(Characters) + text.size());
    auto* made = new (room) Characters(text.size());
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(made + 1));
    return Pointer(made);
  }

  Pointer text_;  // null: empty
};

}  // namespace ddptwin
