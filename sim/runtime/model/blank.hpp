// What a file holds that nobody will read: it is counted, and not kept.
#pragma once

#include <cstdint>

namespace ddptwin::model {

// In bytes.
struct Blank {
  std::uint64_t written = 0;
  std::uint64_t hole = 0;  // takes no room on disk (truncate(1))
  friend bool operator==(const Blank&, const Blank&) = default;
};

}  // namespace ddptwin::model
