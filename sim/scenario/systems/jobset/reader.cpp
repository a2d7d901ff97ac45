// A JobSet as judges see it (spec/trainjob.md §5). Nothing here is the controller's: what it works
// out is worked out anew.
#include <algorithm>

#include "objects/jobset.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/jobset/parts.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view own_controller = "jobset.sigs.k8s.io/jobset-controller";

// Pods of one Job of it; a work queue says no completions.
int pods_of_one(const JobSpec& spec) {
  return spec.completions.value_or(spec.parallelism.value_or(1));
}

// All pods of all its Jobs must succeed, as far as the set's policy and each Job's own go.
bool wants_all(const JobSetSpec& spec, const ReplicatedJob& one) {
  const JobSpec& job = *one.template_.spec;
  const bool set_wants_all = spec.successPolicy && spec.successPolicy->operator_ == "All" &&
                             spec.successPolicy->targetReplicatedJobs.empty();
  return set_wants_all && job.completionMode == "Indexed" && job.completions && !job.successPolicy;
}

Workload::Group group_of_jobs(const JobSetSpec& spec, const ReplicatedJob& one) {
  const JobSpec& job = *one.template_.spec;
  Workload::Group group;
  group.name = one.name;
  group.per_part = std::max(pods_of_one(job), 1);
  group.wanted = std::max(one.replicas, 0) * pods_of_one(job);
  group.restart = job.template_.spec->restartPolicy;
  group.init_containers = job.template_.spec->initContainers.size();
  group.full_at_rest = false;  // others may have to be ready before
  // Unless the Job says otherwise, and a set that is made anew waits for its old pods.
  const std::string_view early = "TerminatingOrFailed", late = "Failed";
  group.replaced_early =
      job.podReplacementPolicy.value_or(std::string(job.podFailurePolicy ? late : early)) != late;
  group.decides = wants_all(spec, one);
  return group;
}

const JobSetCondition* held_by_jobset(const JobSetStatus& status, std::string_view type) {
  for (const JobSetCondition& one : status.conditions)
    if (one.type_ == type && one.status == "True") return &one;
  return nullptr;
}

Workload read_jobset(const Object& object) {
  const JobSet& set = *as<JobSet>(object);
  const JobSetSpec& spec = *set.spec;
  Workload told;
  for (const ReplicatedJob& one : spec.replicatedJobs)
    told.groups.push_back(group_of_jobs(spec, one));
  told.suspended = spec.suspend.value_or(false);
  told.of_others = spec.managedBy.value_or(std::string(own_controller)) != own_controller;
  if (spec.ttlSecondsAfterFinished) told.ttl = *spec.ttlSecondsAfterFinished;
  if (!set.status) return told;
  const JobSetStatus& status = *set.status;
  told.told = true;
  const JobSetCondition *completed = held_by_jobset(status, "Completed"),
                        *failed = held_by_jobset(status, "Failed");
  told.succeeded = completed != nullptr;
  told.failed = failed != nullptr;
  if (failed != nullptr) told.completed = failed->lastTransitionTime;
  if (completed != nullptr) told.completed = completed->lastTransitionTime;
  for (const JobSetCondition& one : status.conditions)
    if (one.type_ == "Suspended") told.says_suspended = one.status == "True";
  return told;
}

}  // namespace

constinit const WorkloadReader jobset_reader{
    .system = jobset_actor,
    .info = &JobSet::info,
    .read = &read_jobset,
    .actor = jobset_actor,
    .pods_by = jobset_actor,  // its Jobs' pods are made by somebody else
    .controller = "jobset",
    .group_label = "jobset.sigs.k8s.io/replicatedjob-name",
    .index_label = "batch.kubernetes.io/job-completion-index",
    .part_label = "jobset.sigs.k8s.io/job-index",
    .success = "Completed",
    .failure = "Failed",
};

}  // namespace ddptwin::scenario
