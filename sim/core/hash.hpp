// Hashes: of texts for finding things, and of names for seeds and for what is told apart by them.
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

// What `take(state, word)` makes of the state with the words of a text, one after the other. The
// state is handed on by value, and so stays in registers: names are short and there are many.
// Of eight bytes and more: eight at a time; the last ones overlap those before.
template <class State, class Take>
State fold_long(std::string_view text, State state, const Take& take) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t word = 0;
  for (; left > 8; at += 8, left -= 8) {
    std::memcpy(&word, at, 8);
    state = take(state, word);
  }
  std::memcpy(&word, at + left - 8, 8);
  return take(state, word);
}
// Of fewer: one word, with the length in the byte that they leave.
template <class State, class Take>
State fold_short(std::string_view text, State state, const Take& take) {
  const char* at = text.data();
  const std::size_t size = text.size();
  std::uint64_t word = 0;
  if (size >= 4) {
    std::uint32_t first = 0, last = 0;
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + size - 4, 4);
    word = static_cast<std::uint64_t>(last) << (8 * (size - 4)) | first;
  } else {
    for (std::size_t i = 0; i < size; ++i) word = word << 8 | static_cast<unsigned char>(at[i]);
  }
  return take(state, word | static_cast<std::uint64_t>(size) << 56);
}

// Cheap, for a table whose keys are compared too: texts may be found that collide, and long ones
// are told apart by their words alone, not by their lengths.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * golden_ratio;
  return hash ^ (hash >> 32);
}
inline std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  const auto take = [](std::uint64_t so_far, std::uint64_t word) { return mix(so_far, word); };
  return text.size() >= 8 ? fold_long(text, hash, take) : fold_short(text, hash, take);
}

// Of the name of an object and its namespace. Names differ in their last letters, the high bytes of
// a word, which one multiplication leaves high: another brings them down to the bits that tables
// go by.
inline std::uint32_t hash_of_names(std::string_view namespace_, std::string_view name) {
  return static_cast<std::uint32_t>(mix(mix(mix(0, namespace_), name), std::uint64_t{0}));
}

// SplitMix64's finalizer: each bit reaches all others.
constexpr std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

// The two halves of the product, one laid on the other: each bit reaches all others.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = Product{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Stands for a list of texts where keeping them costs too much. Two lists are taken for one where
// all 128 bits are equal, which chance alone brings about once in 2^128 pairs.
struct Fingerprint {
  std::uint64_t low = 0, high = golden_ratio;
  bool operator==(const Fingerprint&) const = default;
  void add(std::string_view text) {
    const auto take = [](const Fingerprint& print, std::uint64_t word) { return print.with(word); };
    // The length first: it has no byte above it, as that of a short text has.
    *this =
        text.size() >= 8 ? fold_long(text, with(text.size()), take) : fold_short(text, *this, take);
  }
  static Fingerprint of(std::string_view text) {
    Fingerprint print;
    print.add(text);
    return print;
  }
  // Of a name within its namespace.
  static Fingerprint of(std::string_view namespace_, std::string_view name) {
    Fingerprint print = of(namespace_);
    print.add(name);
    return print;
  }
  // What stands for other texts.
  void add(const Fingerprint& other) {
    for (const std::uint64_t word : {other.low, other.high}) *this = with(word);
  }

 private:
  Fingerprint with(std::uint64_t word) const {
    return {folded_product(low ^ word, golden_ratio),
            folded_product(high + word, 0xd1342543de82ef95ULL)};
  }
};

}  // namespace ddptwin

template <>
struct std::hash<ddptwin::Fingerprint> {
  std::size_t operator()(const ddptwin::Fingerprint& print) const { return print.low; }
};
