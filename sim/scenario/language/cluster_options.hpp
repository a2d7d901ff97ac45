// The cluster that a scenario asks for, the same in real and in virtual time.
#pragma once

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// The kinds of what it applies, each once, as they first appear; of a system's own, too.
std::vector<const KindInfo*> kinds_of(const Scenario& scenario);
WorldOptions cluster_options(const Scenario& scenario, std::uint64_t seed);

}  // namespace ddptwin::scenario
