// Which invariants upstream does not keep under which faults, though it keeps them without.
#pragma once

#include "scenario/invariants/invariants.hpp"
#include "scenario/language/fault.hpp"

namespace ddptwin::scenario {

// For random runs: without what upstream's own bugs break (kept_by_upstream()), and without what it
// does not keep under the faults of this plan.
InvariantPolicy kept_under(const FaultPlan& plan);

}  // namespace ddptwin::scenario
