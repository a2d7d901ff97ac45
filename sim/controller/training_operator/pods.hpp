// Small questions about pods, apart from the pass (spec/pytorchjob.md §3.1, §3.4, §4.3).
#pragma once

#include <string>
#include <string_view>

#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

// ExitCode becomes Never; every other text stays.
std::string pod_restart_policy(const std::string& replica_policy);
// Adds the pod to its type's counters; one that runs while it is being deleted counts as failed.
void count(ReplicaStatus& counters, const Pod& pod);
// Any replica's template names another scheduler than the gang's.
bool has_foreign_scheduler(const PyTorchJob& job, std::string_view gang);

}  // namespace ddptwin::controller::pytorchjob
