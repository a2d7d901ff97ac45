// What became of a scenario's own faults in one run, in real or virtual time.
#pragma once

#include <vector>

#include "scenario/faults/injector.hpp"
#include "scenario/run/result.hpp"

namespace ddptwin::scenario {

// A fault that never acts tests nothing, and its scenario only seems to hold under it: it has
// failed. From the scenario's beginning to the run's end.
std::vector<RunResult::Judged> judged_faults(const FaultPlan& plan, const FaultInjector& injector,
                                             Time began, Time ended);

}  // namespace ddptwin::scenario
