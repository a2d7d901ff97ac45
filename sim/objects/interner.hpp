#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "objects/cow.hpp"

namespace ddptwin {

// Hands out one memory for equal values that come close together: it knows the latest `most` that
// it has handed out.
template <class T>
class Interner {
 public:
  explicit Interner(std::size_t most) : most_(most) {}

  Cow<T> operator()(Cow<T> value) {
    const auto known = std::find_if(known_.begin(), known_.end(), [&](const Cow<T>& one) {
      return one.same_as(value) || *one == *value;
    });
    if (known != known_.end()) return *known;
    if (known_.size() >= most_) known_.erase(known_.begin());
    return known_.emplace_back(std::move(value));
  }

 private:
  std::size_t most_;
  std::vector<Cow<T>> known_{};  // the oldest first
};

}  // namespace ddptwin
