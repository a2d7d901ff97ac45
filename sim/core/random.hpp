// Repeatable chance. A world has one seed; each component gets a stream of its own by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddptwin {

// A stream of draws (SplitMix64). A value: a copy repeats what the original draws. split() depends
// on the seed and the name alone, not on the draws so far, so one more draw in one component leaves
// every other component's run as it was.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed), state_(seed) {}

  std::uint64_t next();
  // Uniform in [0, bound). Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1).
  double uniform();
  bool chance(double probability) { return uniform() < probability; }
  Random split(std::string_view name) const;
  Random split(std::uint64_t number) const;
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  std::uint64_t state_;
};

}  // namespace ddptwin
