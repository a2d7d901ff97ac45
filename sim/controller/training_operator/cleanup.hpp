// What remains of a job that has ended (spec/pytorchjob.md §4.7, §4.8), as plain questions.
#pragma once

#include <optional>

#include "core/result.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

// False: cleanPodPolicy keeps this pod of a job with this status.
bool is_cleaned_up(const Pod& pod, const RunPolicy& policy, const JobStatus& status);

// How long until a finished job with a TTL goes, never negative; nothing when it stays. The error
// is upstream's for a job without completionTime (Q3).
Result<std::optional<Duration>> time_to_expiry(const RunPolicy& policy, const JobStatus& status,
                                               Time now);

}  // namespace ddptwin::controller::pytorchjob
