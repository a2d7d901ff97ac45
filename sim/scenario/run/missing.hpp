// What the pods of a run name and nobody makes: on a real cluster it would hold them up, or change
// what they are. Told in a run's first lines, before somebody waits for what cannot come.
#pragma once

#include <vector>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// Of every pod template of the manifests and of `apply` steps, at any depth, so of any kind of
// workload: claims, accounts, classes, Secrets and ConfigMaps, schedulers, and nodes that no pod
// of it fits on. What a later step makes is made. Precondition: preflight(scenario).
std::vector<ManifestNote> missing_of(const Scenario& scenario);

}  // namespace ddptwin::scenario
