#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "objects/cow.hpp"

namespace ddptwin {

// Hands out one memory for equal values that come close together: it knows the latest `most`
// different ones. Precondition: most > 0.
template <class T>
class Interner {
 public:
  explicit Interner(std::size_t most) : most_(most) {}

  Cow<T> operator()(T value) {
    const Cow<T>* known = find(value);
    return known != nullptr ? *known : add(std::move(value));
  }
  Cow<T> operator()(Cow<T> value) {
    const Cow<T>* known = find(*value);
    return known != nullptr ? *known : add(std::move(value));
  }
  // Of a value that is cheaper to tell from others than to make: `is_it` says whether it is this
  // one.
  template <class IsIt, class Make>
  Cow<T> operator()(const IsIt& is_it, const Make& make) {
    const Cow<T>* known = find_if(is_it);
    return known != nullptr ? *known : add(make());
  }

 private:
  const Cow<T>* find(const T& value) const {
    return find_if([&](const T& one) { return &one == &value || one == value; });
  }
  // Who comes again does so soon: the latest first.
  template <class IsIt>
  const Cow<T>* find_if(const IsIt& is_it) const {
    const auto known = std::find_if(known_.rbegin(), known_.rend(),
                                    [&](const Cow<T>& one) { return is_it(*one); });
    return known != known_.rend() ? &*known : nullptr;
  }
  const Cow<T>& add(Cow<T> value) {
    if (known_.size() >= most_) known_.erase(known_.begin());
    return known_.emplace_back(std::move(value));
  }

  std::size_t most_;
  std::vector<Cow<T>> known_{};  // the oldest first
};

}  // namespace ddptwin
