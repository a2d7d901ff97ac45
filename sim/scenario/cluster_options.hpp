// The cluster that a scenario asks for, the same in real and in virtual time.
#pragma once

#include "scenario/scenario.hpp"

namespace ddptwin::scenario {

WorldOptions cluster_options(const Scenario& scenario, std::uint64_t seed);

}  // namespace ddptwin::scenario
