// A Job as judges see it (spec/trainjob.md §6). Nothing here is the controller's: what it works
// out is worked out anew.
#include <algorithm>

#include "scenario/systems/actors.hpp"
#include "scenario/systems/job/parts.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view own_manager = "kubernetes.io/job-controller";

bool holds(const BatchJobStatus& status, std::string_view type) {
  return std::any_of(
      status.conditions.begin(), status.conditions.end(),
      [type](const BatchJobCondition& one) { return one.type_ == type && one.status == "True"; });
}

// Who says neither has one; a work queue, which says no completions, as many as run at once.
int wanted_pods(const JobSpec& spec) {
  if (spec.completions) return *spec.completions;
  return spec.parallelism.value_or(1);
}

Workload read_job(const Object& object) {
  const Job& job = *as<Job>(object);
  const JobSpec& spec = *job.spec;
  Workload told;
  Workload::Group group;
  group.wanted = wanted_pods(spec);
  group.restart = spec.template_.spec->restartPolicy;
  group.init_containers = spec.template_.spec->initContainers.size();
  group.full_at_rest = false;  // parallelism of them at once, and failed ones stay
  group.replaced_early = spec.podReplacementPolicy == "TerminatingOrFailed";
  // Others may be a success without all pods: its own rows tell.
  group.decides = spec.completions.has_value() && !spec.successPolicy;
  told.groups.push_back(group);
  told.suspended = spec.suspend.value_or(false);
  told.of_others = spec.managedBy.value_or(std::string(own_manager)) != own_manager;
  told.deadline = spec.activeDeadlineSeconds;
  if (spec.ttlSecondsAfterFinished) told.ttl = *spec.ttlSecondsAfterFinished;
  const BatchJobStatus& status = job.status;
  told.started = status.startTime;
  told.completed = status.completionTime;
  told.told = !status.conditions.empty() || status.startTime.has_value();
  told.succeeded = holds(status, "Complete");
  told.failed = holds(status, "Failed");
  told.ends = holds(status, "FailureTarget") || holds(status, "SuccessCriteriaMet");
  told.says_suspended = holds(status, "Suspended");
  return told;
}

}  // namespace

std::vector<ToldCondition> conditions_of_job(const Object& object) {
  std::vector<ToldCondition> found;
  for (const BatchJobCondition& one : as<Job>(object)->status.conditions)
    found.push_back({one.type_, one.status, one.reason, one.message});
  return found;
}

constinit const WorkloadReader job_reader{
    .system = manager_actor,
    .info = &Job::info,
    .read = &read_job,
    .actor = manager_actor,
    .shares_actor = true,
    .pods_by = manager_actor,
    .controller = "job-controller",
    .index_label = "batch.kubernetes.io/job-completion-index",
    .free_indexes = true,
    .success = "Complete",
    .failure = "Failed",
};

}  // namespace ddptwin::scenario
