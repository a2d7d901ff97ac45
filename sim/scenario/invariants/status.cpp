// Invariants about what a job's status says.
#include <fmt/format.h>

#include <algorithm>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

const JobStatus* status_of(const Object& object) {
  const auto& status = static_cast<const PyTorchJob&>(object).status;
  return status ? &*status : nullptr;
}

struct Counts {
  std::int32_t active = 0, succeeded = 0, failed = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  std::string text() const { return fmt::format("{}/{}/{}", active, succeeded, failed); }
};

// What a reader of the pods would count (spec/pytorchjob.md §4.3): an index with two pods is not.
Counts count_pods(const JobFacts& job, int type) {
  Counts counts;
  for (const ReplicaFacts& replica : job.types[static_cast<std::size_t>(type)].replicas) {
    if (replica.pods.size() != 1) continue;
    const PodFacts& pod = *replica.pods.front();
    if (pod.is("Succeeded")) ++counts.succeeded;
    if (pod.is("Failed")) ++counts.failed;
    if (pod.is("Running")) ++(pod.terminating() ? counts.failed : counts.active);
  }
  return counts;
}

Counts stored_counts(const JobFacts& job, int type) {
  const auto& status = job.last->status;
  if (!status || !status->replicaStatuses) return {};
  const auto found = status->replicaStatuses->find(type_name(type));
  if (found == status->replicaStatuses->end()) return {};
  return {found->second.active, found->second.succeeded, found->second.failed};
}

bool is_true(const JobFacts& job, std::string_view condition) {
  return job.last->status && job.last->status->is_true(condition);
}

// At rest, and nothing stands in the way of the operator's last word about it.
bool has_settled(const Sight& sight) {
  const JobFacts& job = *sight.job;
  return job.live() && !job.blocked() && !sight.facts.panicked();
}

// The condition that the pods ask for, where a dumb reader can tell; empty: it cannot.
std::string_view due_condition(const JobFacts& job) {
  const int judge = job.has_master() ? 0 : 1;  // the type whose pods decide (§4.9)
  if (job.spec_of(judge) == nullptr) return {};
  const Counts deciding = count_pods(job, judge);
  const bool elastic = judge == 1 && job.last->spec->elasticPolicy.has_value();
  if (deciding.succeeded == job.wanted(judge) || (elastic && deciding.succeeded > 0))
    return "Succeeded";
  bool failing = false;
  for (int type = 0; type < 2; ++type) {
    const ReplicaSpec* spec = job.spec_of(type);
    if (spec == nullptr) continue;
    const Counts counts = count_pods(job, type);
    if (counts.failed == 0 || job.wanted(type) <= counts.succeeded + counts.active) continue;
    failing = true;
    if (spec->restartPolicy == "Never") return "Failed";
  }
  if (!failing && deciding.active > 0) return "Running";
  return {};
}

}  // namespace

bool one_condition(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr || !sight.job->last->status) return false;
  const auto& conditions = sight.job->last->status->conditions;
  for (std::size_t i = 0; i < conditions.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (conditions[i].type_ == conditions[j].type_)
        verdicts.violated(sight.job->text(), fmt::format("{} has the condition {} twice",
                                                         sight.job->text(), conditions[i].type_));
  return true;
}

bool one_state(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  if (is_true(*sight.job, "Running") && is_true(*sight.job, "Restarting"))
    verdicts.violated(sight.job->text(),
                      fmt::format("{} is Running and Restarting at once", sight.job->text()));
  return true;
}

bool monotone(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const Object &was = *sight.record->before, &is = *sight.record->after;
  if (is.metadata.generation < was.metadata.generation)
    verdicts.violated(name_of(is),
                      fmt::format("the generation of {} went from {} to {}", name_of(is),
                                  was.metadata.generation, is.metadata.generation));
  if (sight.pod == nullptr || sight.pod->restarts == 0) return true;
  const auto& before = static_cast<const Pod&>(was).status.containerStatuses;
  const auto& now = static_cast<const Pod&>(is).status.containerStatuses;
  for (const ContainerStatus& old : before)
    for (const ContainerStatus& one : now)
      if (one.name == old.name && one.restartCount < old.restartCount)
        verdicts.violated(name_of(is),
                          fmt::format("the restart count of {}/{} went from {} to {}", name_of(is),
                                      one.name, old.restartCount, one.restartCount));
  return true;
}

bool times(const Sight& sight, Verdicts& verdicts) {
  const JobStatus* status = status_of(*sight.job->last);
  if (status == nullptr || !status->startTime || !status->completionTime) return false;
  if (*status->startTime > *status->completionTime)
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} was completed at {} and started at {}", sight.job->text(),
                    format_rfc3339(*status->completionTime), format_rfc3339(*status->startTime)));
  return true;
}

bool completion_time(const Sight& sight, Verdicts& verdicts) {
  const JobStatus* status = status_of(*sight.job->last);
  if (status == nullptr || !status->completionTime) return false;
  if (sight.job->finished()) return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("{} has a completionTime and has not finished", sight.job->text()));
  return true;
}

bool start_time(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const JobStatus *before = status_of(*sight.record->before),
                  *now = status_of(*sight.record->after);
  if (before == nullptr || !before->startTime || before->is_true("Suspended")) return false;
  if (now != nullptr && now->startTime == before->startTime) return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("the startTime of {} changed from {} without a "
                                "resume",
                                sight.job->text(), format_rfc3339(*before->startTime)));
  return true;
}

bool spec_untouched(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight) || sight.record->actor != operator_actor) return false;
  const ObjectMeta &was = sight.record->before->metadata, &is = sight.record->after->metadata;
  // A custom resource counts the versions of its spec in its generation.
  const bool same =
      was.generation == is.generation &&
      (was.labels.same_as(is.labels) || *was.labels == *is.labels) &&
      (was.annotations.same_as(is.annotations) || *was.annotations == *is.annotations);
  if (!same)
    verdicts.violated(
        sight.job->text(),
        fmt::format("the operator changed more of {} than its status", sight.job->text()));
  return true;
}

bool counters_are_true(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || job.finished() || job.suspended()) return false;
  for (int type = 0; type < 2; ++type) {
    if (job.spec_of(type) == nullptr) continue;
    const Counts counted = count_pods(job, type), stored = stored_counts(job, type);
    if (counted != stored)
      verdicts.violated(job.text(),
                        fmt::format("{} says of its {} {} active/succeeded/failed, and "
                                    "its pods are {}",
                                    job.text(), type_name(type), stored.text(), counted.text()));
  }
  return true;
}

bool conditions_are_true(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || job.finished() || job.suspended()) return false;
  const std::string_view due = due_condition(job);
  if (!due.empty() && !is_true(job, due))
    verdicts.violated(job.text(),
                      fmt::format("{} should be {} by its pods, and is not", job.text(), due));
  return !due.empty();
}

bool permanent_failure_fails(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || job.suspended() || !has_failed_for_good(job)) return false;
  if (!job.finished())
    verdicts.violated(job.text(),
                      fmt::format("a pod of {} has failed with a permanent code, and the "
                                  "job goes on",
                                  job.text()));
  return true;
}

bool created_first(const Sight& sight, Verdicts& verdicts) {
  const JobStatus* status = status_of(*sight.job->last);
  if (sight.record->after == nullptr || status == nullptr || status->conditions.empty())
    return false;
  if (status->conditions.front().type_ != "Created")
    verdicts.violated(sight.job->text(),
                      fmt::format("the first condition of {} is {}, not Created", sight.job->text(),
                                  status->conditions.front().type_));
  return true;
}

bool running_is_true(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || job.finished() || !is_true(job, "Running")) return false;
  if (std::none_of(job.pods.begin(), job.pods.end(),
                   [](const PodFacts* pod) { return pod->is("Running"); }))
    verdicts.violated(job.text(), fmt::format("{} is Running, and no pod of it is", job.text()));
  return true;
}

bool finished_counters(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || !job.finished()) return false;
  for (int type = 0; type < 2; ++type) {  // also one that is no longer in the spec
    const Counts counted = count_pods(job, type), stored = stored_counts(job, type);
    if (counted.active != stored.active)
      verdicts.violated(job.text(),
                        fmt::format("{} has finished and says that {} {} are active; {} run",
                                    job.text(), stored.active, type_name(type), counted.active));
  }
  return true;
}

}  // namespace ddptwin::scenario::invariants
