#include "cluster/model_runtime/profile.hpp"

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

}  // namespace ddptwin::model
