// What the training operator promises of a job's status.
#include <fmt/format.h>

#include <algorithm>

#include "scenario/systems/training_operator/judges.hpp"

namespace ddptwin::scenario::invariants::pytorchjob {
namespace {

struct Counts {
  std::int32_t active = 0, succeeded = 0, failed = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  std::string text() const { return fmt::format("{}/{}/{}", active, succeeded, failed); }
};

// What a reader of the pods would count (spec/pytorchjob.md §4.3): an index with two pods is not.
Counts count_pods(const JobFacts& job, int type) {
  Counts counts;
  for (const ReplicaFacts& replica : job.type(type).replicas) {
    if (replica.pods.size() != 1) continue;
    const PodFacts& pod = *replica.pods.front();
    if (pod.is("Succeeded")) ++counts.succeeded;
    if (pod.is("Failed")) ++counts.failed;
    if (pod.is("Running")) ++(pod.terminating() ? counts.failed : counts.active);
  }
  return counts;
}

Counts stored_counts(const JobFacts& job, int type) {
  const JobStatus* status = status_of(*job.last);
  if (status == nullptr || !status->replicaStatuses) return {};
  const auto found = status->replicaStatuses->find(job.type(type).name);
  if (found == status->replicaStatuses->end()) return {};
  return {found->second.active, found->second.succeeded, found->second.failed};
}

// The condition that the pods ask for, where a dumb reader can tell; empty: it cannot.
std::string_view due_condition(const JobFacts& job) {
  const auto decides = std::find_if(job.types.begin(), job.types.end(), [](const TypeFacts& type) {
    return type.spec != nullptr && type.spec->decides;
  });
  if (decides == job.types.end()) return {};
  const Counts deciding = count_pods(job, static_cast<int>(decides - job.types.begin()));
  if (deciding.succeeded == decides->spec->wanted ||
      (decides->spec->one_is_enough && deciding.succeeded > 0))
    return "Succeeded";
  bool failing = false;
  for (int type = 0; type < job.type_count(); ++type) {
    const Workload::Group* spec = job.spec_of(type);
    if (spec == nullptr) continue;
    const Counts counts = count_pods(job, type);
    if (counts.failed == 0 || job.wanted(type) <= counts.succeeded + counts.active) continue;
    failing = true;
    if (spec->restart == "Never") return "Failed";
  }
  if (!failing && deciding.active > 0) return "Running";
  return {};
}

}  // namespace

bool one_condition(const Sight& sight, Verdicts& verdicts) {
  const JobStatus* status = status_of(*sight.job->last);
  if (sight.record->after == nullptr || status == nullptr) return false;
  const auto& conditions = status->conditions;
  for (std::size_t i = 0; i < conditions.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (conditions[i].type_ == conditions[j].type_)
        verdicts.violated(sight.job->text(), fmt::format("{} has the condition {} twice",
                                                         sight.job->text(), conditions[i].type_));
  return true;
}

bool one_state(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  if (is_true(*sight.job->last, "Running") && is_true(*sight.job->last, "Restarting"))
    verdicts.violated(sight.job->text(),
                      fmt::format("{} is Running and Restarting at once", sight.job->text()));
  return true;
}

bool counters_are_true(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || job.finished() || job.suspended()) return false;
  for (int type = 0; type < job.type_count(); ++type) {
    if (job.spec_of(type) == nullptr) continue;
    const Counts counted = count_pods(job, type), stored = stored_counts(job, type);
    if (counted != stored)
      verdicts.violated(
          job.text(), fmt::format("{} says of its {} {} active/succeeded/failed, and "
                                  "its pods are {}",
                                  job.text(), job.type_text(type), stored.text(), counted.text()));
  }
  return true;
}

bool conditions_are_true(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || job.finished() || job.suspended()) return false;
  const std::string_view due = due_condition(job);
  if (!due.empty() && !is_true(*job.last, due))
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
  if (!has_settled(sight) || job.finished() || !is_true(*job.last, "Running")) return false;
  if (std::none_of(job.pods.begin(), job.pods.end(),
                   [](const PodFacts* pod) { return pod->is("Running"); }))
    verdicts.violated(job.text(), fmt::format("{} is Running, and no pod of it is", job.text()));
  return true;
}

bool finished_counters(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || !job.finished()) return false;
  for (int type = 0; type < job.type_count(); ++type) {  // also one that is no longer in the spec
    const Counts counted = count_pods(job, type), stored = stored_counts(job, type);
    if (counted.active != stored.active)
      verdicts.violated(
          job.text(), fmt::format("{} has finished and says that {} {} are active; {} run",
                                  job.text(), stored.active, job.type_text(type), counted.active));
  }
  return true;
}

}  // namespace ddptwin::scenario::invariants::pytorchjob
