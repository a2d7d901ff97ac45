// FNV-1a over the bytes of floats: how two ranks' parameters are told apart in one word.
#pragma once

#include <cstdint>
#include <span>

namespace ddptwin::workers {

class Hash {
 public:
  void add(std::span<const float> values) {
    for (const std::byte byte : std::as_bytes(values)) {
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 1099511628211U;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

}  // namespace ddptwin::workers
