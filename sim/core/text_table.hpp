#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/hash.hpp"

namespace ddptwin {

// Not noexcept: a table then keeps the hashes, and compares no texts whose hashes differ.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return mix(golden_ratio, text); }
};

// Looked up, never walked: their order cannot be seen.
template <class T>
using TextTable = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

}  // namespace ddptwin
