// One pod of a Job: its index, how it fares, when it ended, whom it is deleted before
// (spec/trainjob.md §6.2 to §6.5).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "objects/batch_v1.hpp"

namespace ddptwin::controller::job {

using PodPtr = std::shared_ptr<const Pod>;

namespace label {
inline const Text completion_index = "batch.kubernetes.io/job-completion-index";
}
namespace annotation {
inline const Text completion_index = "batch.kubernetes.io/job-completion-index";
inline const Text failure_count = "batch.kubernetes.io/job-index-failure-count";
inline const Text ignored_failure_count = "batch.kubernetes.io/job-index-ignored-failure-count";
}  // namespace annotation

// Of an Indexed Job's pod; nothing where it says none.
std::optional<int> index_of(const Pod& pod);
// Within the Job's completions.
std::optional<int> valid_index(const Pod& pod, const JobSpec& job);

bool is_tracked(const Pod& pod);  // has the finalizer
bool is_active(const Pod& pod);   // neither ended nor ending
bool is_ending(const Pod& pod);   // not over, and being deleted
bool is_ready(const Pod& pod);
// Replacements wait for the end of those that they replace.
bool replaces_ended_only(const JobSpec& job);
// Counts as a failure: one that is deleted does before its end, unless replaces_ended_only().
bool has_failed(const Pod& pod, const JobSpec& job);

// When it ended, as far as it says.
Time finish_time(const Pod& pod);

// Restarts of all its containers in pods that are not over.
std::int64_t restarts_in(const Pod& pod);

// The surplus that goes first: pods whose index another has or none may have, then by how little
// they have done.
std::vector<PodPtr> surplus(const JobSpec& job, const std::vector<PodPtr>& active,
                            std::size_t count);

// How often the index has failed before this pod, as its annotations say.
int failures_before(const Pod& pod);
int ignored_failures_before(const Pod& pod);

}  // namespace ddptwin::controller::job
