#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ddptwin {

// As ==, without the call that it makes: for names, which are short and are compared where a hash
// has found one, so that they are nearly always the same, and often one memory. The last bytes
// overlap those before.
inline bool same_text(std::string_view a, std::string_view b) {
  std::size_t left = a.size();
  if (left != b.size()) return false;
  const char *x = a.data(), *y = b.data();
  if (x == y) return true;
  const auto same_at = [&x, &y](std::ptrdiff_t at, auto word) {
    auto other = word;
    std::memcpy(&word, x + at, sizeof word);
    std::memcpy(&other, y + at, sizeof other);
    return word == other;
  };
  if (left >= 8) {
    for (; left > 8; left -= 8, x += 8, y += 8)
      if (!same_at(0, std::uint64_t{0})) return false;
    return same_at(static_cast<std::ptrdiff_t>(left) - 8, std::uint64_t{0});
  }
  if (left >= 4)
    return same_at(0, std::uint32_t{0}) &&
           same_at(static_cast<std::ptrdiff_t>(left) - 4, std::uint32_t{0});
  for (; left > 0; --left)
    if (*x++ != *y++) return false;
  return true;
}

}  // namespace ddptwin
