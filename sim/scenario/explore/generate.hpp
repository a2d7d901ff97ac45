// Random plans of faults over a scenario.
#pragma once

#include <span>

#include "core/random.hpp"
#include "scenario/faults/census.hpp"
#include "scenario/language/fault.hpp"

namespace ddptwin::scenario {

struct PlanBounds {
  std::size_t faults_max = 6;
  Duration length = std::chrono::seconds(60);  // of an undisturbed run: times are drawn from it
};

// Swarm-weighted: each plan enables a random part of the kinds and weighs them anew; a run in which
// everything fails a little finds less. Targets and numbers come from what an undisturbed run
// showed, and somewhat beyond it. The same draws give the same plan. Kinds that find no target are
// left out; the plan may be empty for that reason alone.
FaultPlan random_plan(Random random, const Census& census, std::span<const FaultRow* const> kinds,
                      const PlanBounds& bounds);

}  // namespace ddptwin::scenario
