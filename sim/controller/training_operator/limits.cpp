// backoffLimit and activeDeadlineSeconds (spec/pytorchjob.md §4.6).
#include "controller/training_operator/limits.hpp"

#include <algorithm>
#include <array>

#include "controller/training_operator/pass.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

constexpr std::array<std::string_view, 3> counting_policies{"OnFailure", "Always", "ExitCode"};

int restarts_of(const Pod& pod) {
  int restarts = 0;
  for (const ContainerStatus& status : pod.status.initContainerStatuses)
    restarts += status.restartCount;
  for (const ContainerStatus& status : pod.status.containerStatuses)
    restarts += status.restartCount;
  return restarts;
}

int count_phase(const Pods& pods, std::string_view phase) {
  return static_cast<int>(std::count_if(
      pods.begin(), pods.end(), [&](const Pod* pod) { return pod->status.phase == phase; }));
}

// Fires for limits up to 0 only: the number of retries it should compare with is read from a queue
// that nothing is ever put into (Q1, Q22).
bool exceeds_backoff_limit(const Pass& pass, int limit) {
  constexpr int previous_retries = 0;
  int failed_before = 0;
  if (pass.status.replicaStatuses)
    for (const auto& [type, counters] : *pass.status.replicaStatuses)
      failed_before += counters.failed;
  const auto& pods = pass.seen.pods;
  const auto active =
      std::count_if(pods.begin(), pods.end(), [](const Pod* pod) { return is_active(*pod); });
  return count_phase(pods, "Failed") > failed_before && active != total_replicas(pass.job) &&
         previous_retries + 1 > limit;
}

// The real end of the pass: upstream writes the status whether it differs or not.
void fail_job(Pass& pass, const Rule& rule, const std::string& message) {
  if (!pass.status.completionTime) pass.status.completionTime = pass.now;
  const bool condition_first = pass.profile().limit_honours_clean_pod_policy;
  const auto declare = [&] {
    pass.event(rule, normal, reason::failed, message);
    pass.condition({condition::failed, true, reason::failed, message});
  };
  // An unfinished status makes the clean-up ignore cleanPodPolicy (Q5).
  if (condition_first) declare();
  clean_up(pass);
  if (pass.over) return;
  if (!condition_first) declare();
  pass.add(pass.status_step());
}

}  // namespace

bool past_backoff_limit(const PyTorchJob& job, std::span<const Pod* const> pods, int limit) {
  int restarts = 0;
  for (const auto& [type, spec] : replica_specs(job)) {
    if (std::find(counting_policies.begin(), counting_policies.end(), spec.restartPolicy) ==
        counting_policies.end())
      continue;
    for (const Pod* pod : pods)
      if (pod->status.phase == "Running" && is_of_type(pod->metadata, type))
        restarts += restarts_of(*pod);
  }
  return limit == 0 ? restarts > 0 : restarts >= limit;
}

bool past_deadline(const RunPolicy& policy, const JobStatus& status, Time now) {
  return policy.activeDeadlineSeconds && status.startTime &&
         now - *status.startTime >= std::chrono::seconds(*policy.activeDeadlineSeconds);
}

bool enforce_limits(Pass& pass) {
  const RunPolicy& policy = pass.job.spec->runPolicy;
  if (policy.backoffLimit && (exceeds_backoff_limit(pass, *policy.backoffLimit) ||
                              past_backoff_limit(pass.job, pass.seen.pods, *policy.backoffLimit)))
    fail_job(
        pass, rules::backoff_limit_reached,
        "Job " + pass.name() + " has failed because it has reached the specified backoff limit");
  else if (past_deadline(policy, pass.status, pass.now))
    fail_job(
        pass, rules::deadline_reached,
        "Job " + pass.name() + " has failed because it was active longer than specified deadline");
  else
    return false;
  return true;
}

}  // namespace ddptwin::controller::pytorchjob
