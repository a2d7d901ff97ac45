#include "runtime/model/profile.hpp"

#include <algorithm>

namespace ddptwin::model {
namespace {

constexpr std::int64_t latency_only = 4096;  // §8.1: "for 4 B use the latency term only"

// Rounded down. Precondition: per_second is below 2^33, so that nothing overflows.
Duration transfer(std::uint64_t bytes, std::int64_t per_second) {
  const auto total = static_cast<std::int64_t>(bytes);
  constexpr std::int64_t second = 1'000'000'000;
  return Duration(total / per_second * second + total % per_second * second / per_second);
}

}  // namespace

Duration varied_start(const TorchProfile& torch, Duration start, Random chance) {
  const auto spread = static_cast<std::uint64_t>(start.count()) *
                      static_cast<std::uint64_t>(torch.start_spread_percent) / 100;
  const auto drawn = static_cast<std::int64_t>(chance.below(2 * spread + 1));
  return start - Duration(static_cast<std::int64_t>(spread)) + Duration(drawn);
}

Duration all_reduce(const Timing& timing, std::uint64_t bytes, int world) {
  if (world <= 1) return Duration::zero();
  const std::int64_t n = world;
  const Duration hops = 2 * (n - 1) * timing.hop;
  if (timing.machine == Machine::cluster) {
    return hops +
           transfer(bytes * static_cast<std::uint64_t>(2 * (n - 1)) / static_cast<std::uint64_t>(n),
                    timing.bytes_per_second);
  }
  const Duration scheduling = n * (4 * n - 4) * timing.processor / timing.processors;
  if (bytes < static_cast<std::uint64_t>(latency_only)) return hops;
  return std::max(hops, scheduling) +
         transfer(bytes * static_cast<std::uint64_t>(2 * (n - 1)), timing.bytes_per_second);
}

std::uint64_t ring_segment(std::uint64_t bytes, int world) {
  constexpr std::uint64_t segment_max = 1U << 20U, element = sizeof(float);
  const auto up = [](std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
  };
  const auto ranks = static_cast<std::uint64_t>(std::max(world, 1));
  const std::uint64_t needed = up(bytes, segment_max) / segment_max;
  const std::uint64_t segments = up(std::max(needed, 2 * ranks), ranks);
  return up((bytes + segments - 1) / segments, element);
}

}  // namespace ddptwin::model
