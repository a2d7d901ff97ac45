#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ddptwin {

namespace cow_detail {

struct NoItem {};
template <class T>
struct ItemOf {
  using Type = NoItem;
};
template <class T>
requires requires { typename T::value_type; }
struct ItemOf<T> {
  using Type = typename T::value_type;
};

// What only this pointer sees: made where there is nothing, copied where others see it too.
template <class T>
T& own(std::shared_ptr<T>& shared) {
  if (!shared)
    shared = std::make_shared<T>();
  else if (shared.use_count() != 1)
    shared = std::make_shared<T>(*shared);
  return *shared;
}

}  // namespace cow_detail

// A value shared until somebody changes it. Objects are immutable once stored and each change makes
// a new one; what did not change between the two is then the same memory. A default Cow is T{} and
// costs nothing. A list or map is read through its Cow as if that were the list.
template <class T>
class Cow {
  using Item = typename cow_detail::ItemOf<T>::Type;
  static constexpr bool is_text = std::is_same_v<T, std::string>;

 public:
  Cow() = default;
  Cow(T value) : shared_(std::make_shared<T>(std::move(value))) {}  // NOLINT: stands for the value
  Cow(std::initializer_list<Item> items) requires(!std::is_same_v<Item, cow_detail::NoItem>)
      : shared_(std::make_shared<T>(items)) {}
  Cow(const char* text) requires is_text : shared_(std::make_shared<T>(text)) {}

  const T& operator*() const { return shared_ ? *shared_ : nothing(); }
  const T* operator->() const { return &**this; }
  const T& get() const { return **this; }
  operator const T&() const { return **this; }  // NOLINT: stands for the value
  // For changing: a copy of one's own, unless nobody else looks at it.
  T& edit() { return cow_detail::own(shared_); }
  // The same memory: equal without looking.
  bool same_as(const Cow& other) const { return shared_ == other.shared_; }
  // Never given a value: T{} without looking.
  bool untouched() const { return shared_ == nullptr; }
  // Texts are compared as texts are.
  friend bool operator==(const Cow& left, const Cow& right) requires is_text {
    return left.same_as(right) || *left == *right;
  }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const Cow& left, const Text& right) requires is_text {
    return *left == std::string_view(right);
  }

  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  bool empty() const { return untouched() || shared_->empty(); }
  std::size_t size() const { return untouched() ? 0 : shared_->size(); }
  const auto& front() const { return get().front(); }
  const auto& back() const { return get().back(); }
  template <class Place>
  const auto& at(const Place& place) const {
    return get().at(place);
  }
  template <class Place>
  const auto& operator[](const Place& place) const {
    return get()[place];
  }
  template <class Key>
  auto find(const Key& key) const {
    return get().find(key);
  }
  template <class Key>
  bool contains(const Key& key) const {
    return get().contains(key);
  }

 private:
  static const T& nothing() {
    static const T value{};
    return value;
  }
  std::shared_ptr<T> shared_;
};

// An optional part that few have. Its owner pays a pointer for it, where std::optional takes its
// room in all of them; it is shared until somebody changes it, and is read as a std::optional is.
template <class T>
class Rare {
 public:
  using value_type = T;

  Rare() = default;
  Rare(std::nullopt_t) {}                                            // NOLINT: absent
  Rare(T value) : shared_(std::make_shared<T>(std::move(value))) {}  // NOLINT: stands for it

  bool has_value() const { return shared_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  // Precondition: has_value().
  const T& operator*() const { return *shared_; }
  const T* operator->() const { return shared_.get(); }
  // For changing: a copy of one's own, unless nobody else looks at it; made where there is none.
  T& edit() { return cow_detail::own(shared_); }
  T& emplace() {
    shared_ = std::make_shared<T>();
    return *shared_;
  }
  void reset() { shared_ = nullptr; }
  // The same memory, or absent both: equal without looking.
  bool same_as(const Rare& other) const { return shared_ == other.shared_; }

 private:
  std::shared_ptr<T> shared_;
};

// Equal without looking: of what is shared, the same memory.
template <class T>
bool surely_same(const T& a, const T& b) {
  if constexpr (requires { a.same_as(b); })
    return a.same_as(b);
  else
    return a == b;
}

}  // namespace ddptwin
