#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ddptwin {

// The parts in one text, in one piece of memory.
inline std::string concat(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text(size, ' ');
  auto at = text.begin();
  for (const std::string_view part : parts) at = std::copy(part.begin(), part.end(), at);
  return text;
}

}  // namespace ddptwin
