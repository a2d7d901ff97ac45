#pragma once

#include <concepts>
#include <cstddef>
#include <ext/atomicity.h>
#include <initializer_list>
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

// How many pointers share what this is part of. It counts as std::shared_ptr does: for several
// threads once there are any.
class Sharers {
 public:
  void add() { __gnu_cxx::__atomic_add_dispatch(&count_, 1); }
  // Whether the last one has gone.
  bool drop() { return __gnu_cxx::__exchange_and_add_dispatch(&count_, -1) == 1; }
  bool only_one() const { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE) == 1; }

 private:
  _Atomic_word count_ = 1;
};

// Made for one pointer.
template <class T>
struct SharedValue : Sharers {
  template <class... Args>
  explicit SharedValue(Args&&... args) : value(std::forward<Args>(args)...) {}
  T value;
};
// Of one pointer that goes. Not a part of every destructor: most pointers are null.
template <class T>
[[gnu::noinline]] void let_go_of_value(Sharers* shared) {
  if (shared->drop()) delete static_cast<SharedValue<T>*>(shared);
}

// A pointer to what begins with a Sharers. One word, where std::shared_ptr takes two and counts
// weak pointers as well: an object has dozens, most of them null.
template <void (*let_go)(Sharers*)>
class SharedPointer {
 public:
  SharedPointer() = default;
  explicit SharedPointer(Sharers* made) : shared_(made) {}
  SharedPointer(const SharedPointer& other) : shared_(other.shared_) {
    if (shared_ != nullptr) shared_->add();
  }
  SharedPointer(SharedPointer&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  SharedPointer& operator=(const SharedPointer& other) { return *this = SharedPointer(other); }
  SharedPointer& operator=(SharedPointer&& other) noexcept {
    SharedPointer before(std::move(*this));
    shared_ = std::exchange(other.shared_, nullptr);
    return *this;
  }
  ~SharedPointer() {
    if (shared_ != nullptr) let_go(shared_);
  }

  Sharers* get() const { return shared_; }
  bool operator==(const SharedPointer& other) const { return shared_ == other.shared_; }
  bool operator==(std::nullptr_t) const { return shared_ == nullptr; }

 private:
  Sharers* shared_ = nullptr;
};

template <class T>
class Pointer : public SharedPointer<&let_go_of_value<T>> {
  using Base = SharedPointer<&let_go_of_value<T>>;

 public:
  Pointer() = default;
  template <class... Args>
  static Pointer make(Args&&... args) {
    return Pointer(new SharedValue<T>(std::forward<Args>(args)...));
  }
  // Precondition: not null.
  T& operator*() const { return static_cast<SharedValue<T>*>(this->get())->value; }
  T* operator->() const { return &**this; }
  // What only this pointer sees: made where there is nothing, copied where others see it too.
  T& own() {
    if (*this == nullptr)
      *this = make();
    else if (!this->get()->only_one())
      *this = make(std::as_const(**this));
    return **this;
  }

 private:
  explicit Pointer(SharedValue<T>* made) : Base(made) {}
};

}  // namespace cow_detail

// A value shared until somebody changes it. Objects are immutable once stored and each change makes
// a new one; what did not change between the two is then the same memory. A default Cow is T{} and
// costs nothing. A list or map is read through its Cow as if that were the list.
template <class T>
class Cow {
  using Item = typename cow_detail::ItemOf<T>::Type;
  static constexpr bool is_text = std::is_same_v<T, std::string>;

 public:
  using Shared = T;

  Cow() = default;
  Cow(T value)
      : shared_(cow_detail::Pointer<T>::make(std::move(value))) {}  // NOLINT: stands for the value
  Cow(std::initializer_list<Item> items) requires(!std::is_same_v<Item, cow_detail::NoItem>)
      : shared_(cow_detail::Pointer<T>::make(items)) {}
  Cow(const char* text) requires is_text : shared_(cow_detail::Pointer<T>::make(text)) {}

  const T& operator*() const { return untouched() ? nothing() : *shared_; }
  const T* operator->() const { return &**this; }
  const T& get() const { return **this; }
  operator const T&() const { return **this; }  // NOLINT: stands for the value
  // For changing: a copy of one's own, unless nobody else looks at it.
  T& edit() { return shared_.own(); }
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
  cow_detail::Pointer<T> shared_;
};

// An optional part that few have. Its owner pays a pointer for it, where std::optional takes its
// room in all of them; it is shared until somebody changes it, and is read as a std::optional is.
template <class T>
class Rare {
 public:
  using value_type = T;

  Rare() = default;
  Rare(std::nullopt_t) {}  // NOLINT: absent
  Rare(T value)
      : shared_(cow_detail::Pointer<T>::make(std::move(value))) {}  // NOLINT: stands for it

  bool has_value() const { return shared_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  // Precondition: has_value().
  const T& operator*() const { return *shared_; }
  const T* operator->() const { return has_value() ? &*shared_ : nullptr; }
  // For changing: a copy of one's own, unless nobody else looks at it; made where there is none.
  T& edit() { return shared_.own(); }
  T& emplace() {
    shared_ = cow_detail::Pointer<T>::make();
    return *shared_;
  }
  void reset() { shared_ = {}; }
  // The same memory, or absent both: equal without looking.
  bool same_as(const Rare& other) const { return shared_ == other.shared_; }

 private:
  cow_detail::Pointer<T> shared_;
};

// Equal without looking: of what is shared, the same memory.
template <class T>
bool surely_same(const T& a, const T& b) {
  if constexpr (requires { a.same_as(b); })
    return a.same_as(b);
  else
    return a == b;
}

// Changes a member of what is shared, unless it says so already.
template <class T, class Member>
void set(Cow<T>& shared, Member T::*member, std::type_identity_t<Member> value) {
  if (!surely_same((*shared).*member, value)) shared.edit().*member = std::move(value);
}

}  // namespace ddptwin
