// The data set: numbers made from their indices, exact in float, so that every engine, and a Python
// peer with one line of its own, has the same ones (testdata/ddp_peer.py).
#pragma once

#include <cstdint>

namespace ddptwin::workers {

inline constexpr std::int64_t feature_count = 32;

// A multiple of 1/512 in [-1, 1).
inline float feature(std::int64_t sample, std::int64_t column, std::int64_t seed) {
  const auto mixed =
      static_cast<std::uint32_t>(sample * 2654435761 + column * 2246822519 + seed * 97);
  return (static_cast<float>(mixed >> 22) - 512.0F) / 512.0F;
}

// What is to be learnt.
inline float target(std::int64_t sample, std::int64_t seed) {
  return feature(sample, 0, seed) * 0.5F - feature(sample, 1, seed) +
         feature(sample, 2, seed) * 0.25F;
}

}  // namespace ddptwin::workers
