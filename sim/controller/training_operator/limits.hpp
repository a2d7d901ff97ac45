// backoffLimit and activeDeadlineSeconds as plain questions (spec/pytorchjob.md §4.6).
#pragma once

#include <span>

#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

// Restarts of containers in Running pods, over the whole job; live pods only (Q1, Q42).
bool past_backoff_limit(const PyTorchJob& job, std::span<const Pod* const> pods, int limit);
bool past_deadline(const RunPolicy& policy, const JobStatus& status, Time now);

}  // namespace ddptwin::controller::pytorchjob
