// A line of the worker's output that tells of its training.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddptwin::scenario::invariants {

struct WorkerLine {
  enum class Kind : std::uint8_t { none, joined, step, checkpoint, finished, failed };
  Kind kind = Kind::none;
  std::int64_t rank = -1, world = 0;
  std::int64_t step = 0, steps = 0;
  std::string_view parameters{};  // into the line
};
inline constexpr WorkerLine no_line{};
// Kind::none where it is none of ours.
WorkerLine read_line(std::string_view text);

}  // namespace ddptwin::scenario::invariants
