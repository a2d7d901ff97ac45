// Hashes of texts, for finding things: nothing that can be seen goes by their values, but for the
// seeds that fnv1a makes of names.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

namespace ddptwin {

// FNV-1a.
constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;

// One word more. The factor is odd.
template <std::uint64_t factor = golden_ratio>
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * factor;
  return hash ^ (hash >> 32);
}

// Eight bytes at a time; the last ones overlap those before. Names are short and there are many.
template <std::uint64_t factor = golden_ratio>
std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t word = 0;
  hash = mix<factor>(hash, left);
  if (left >= 8) {
    for (; left > 8; at += 8, left -= 8) {
      std::memcpy(&word, at, 8);
      hash = mix<factor>(hash, word);
    }
    std::memcpy(&word, at + left - 8, 8);
    return mix<factor>(hash, word);
  }
  if (left >= 4) {
    std::uint32_t first = 0, last = 0;
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + left - 4, 4);
    return mix<factor>(hash, static_cast<std::uint64_t>(first) << 32 | last);
  }
  for (; left > 0; --left) word = word << 8 | static_cast<unsigned char>(*at++);
  return mix<factor>(hash, word);
}

// Stands for a list of texts where keeping them costs too much: two lists that differ have the same
// with a chance of 2^-128.
struct Fingerprint {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Fingerprint&) const = default;
  void add(std::string_view text) {
    low = mix(low, text);
    high = mix<0xd1342543de82ef95ULL>(high, text);
  }
};

}  // namespace ddptwin

template <>
struct std::hash<ddptwin::Fingerprint> {
  std::size_t operator()(const ddptwin::Fingerprint& print) const { return print.low; }
};
