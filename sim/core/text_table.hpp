#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/hash.hpp"

namespace ddptwin {

// Not noexcept: libstdc++'s tables then keep the hashes, and compare no texts whose hashes differ.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return mix(golden_ratio, text); }
};

// For looking up. Their order cannot be seen: who walks one sorts what it finds.
template <class T>
using TextTable = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

}  // namespace ddptwin
