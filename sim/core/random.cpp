#include "core/random.hpp"

#include "core/hash.hpp"
#include "core/result.hpp"

namespace ddptwin {

std::uint64_t Random::next() { return scramble(state_ += golden_ratio); }

std::uint64_t Random::below(std::uint64_t bound) {
  DDPTWIN_ASSERT(bound > 0);
  for (;;) {
    const std::uint64_t draw = next();
    // Draws under the threshold would make the low remainders likelier; they are drawn again. It is
    // below the bound, and nearly every draw is above.
    if (draw >= bound || draw >= (0 - bound) % bound) return draw % bound;
  }
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

Random Random::split(std::string_view name) const { return split(fnv1a(name)); }

Random Random::split(std::uint64_t number) const {
  return Random(scramble(scramble(seed_ + 1) ^ number));
}

}  // namespace ddptwin
