#pragma once

#include <memory>

namespace ddptwin {

// A value shared until somebody changes it. Objects are immutable once stored and each change makes
// a new one; what did not change between the two is then the same memory. A default Cow is T{} and
// costs nothing.
template <class T>
class Cow {
 public:
  Cow() = default;
  Cow(T value) : shared_(std::make_shared<T>(std::move(value))) {}  // NOLINT: stands for the value

  const T& operator*() const { return shared_ ? *shared_ : nothing(); }
  const T* operator->() const { return &**this; }
  const T& get() const { return **this; }
  // For changing: a copy of one's own, unless nobody else looks at it.
  T& edit() {
    if (!shared_)
      shared_ = std::make_shared<T>();
    else if (shared_.use_count() != 1)
      shared_ = std::make_shared<T>(*shared_);
    return *shared_;
  }
  // The same memory: equal without looking.
  bool same_as(const Cow& other) const { return shared_ == other.shared_; }

 private:
  static const T& nothing() {
    static const T value{};
    return value;
  }
  std::shared_ptr<T> shared_;
};

}  // namespace ddptwin
