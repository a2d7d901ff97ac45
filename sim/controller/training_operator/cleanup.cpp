// Clean-up of pods and services, time to live, suspension (spec/pytorchjob.md §4.5, §4.7, §4.8).
#include "controller/training_operator/cleanup.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "controller/training_operator/pass.hpp"

namespace ddptwin::controller::pytorchjob {

using namespace std::string_view_literals;
namespace {

constexpr RefusalText job_not_deleted{"FailedDeletePod", "Error deleting: "};

Error no_completion_time() {
  return Error{.reason = Reason::unknown, .message = "job completion time is nil, cannot cleanup"};
}

// Driven by the pods: a service without its pod stays (Q15).
void delete_pods_and_services(Pass& pass) {
  boost::container::small_vector<const Pod*, 16> cleaned_up;
  for (const Pod* pod : pass.seen.pods)
    if (is_cleaned_up(*pod, pass.job.spec->runPolicy, pass.status)) cleaned_up.push_back(pod);
  pass.expect_steps(2 * cleaned_up.size());
  for (const Pod* pod : cleaned_up) {
    const Text& name = pod->metadata.name;
    pass.add_deletion(rules::clean_up, Pod::info(), name);
    pass.add_deletion(rules::clean_up, Service::info(), name);
  }
}

void delete_expired_job(Pass& pass) {
  const RunPolicy& policy = pass.job.spec->runPolicy;
  if (!policy.ttlSecondsAfterFinished) return;
  if (pass.profile().suspended_keeps_ttl && is_suspended(pass.job)) return;
  if (!pass.status.completionTime) return pass.abort(rules::ttl_without_end, no_completion_time());
  // The real clock has always moved on a little: on the very instant it is past.
  const Time expiry =
      *pass.status.completionTime + std::chrono::seconds(*policy.ttlSecondsAfterFinished);
  if (pass.now < expiry) return;
  pass.add(Step{.rule = &rules::ttl_is_over,
                .request = api::remove(*pass.seen.job),
                .event = EventText{normal, "SuccessfulDeletePod", pass.name(), "Deleted job: "},
                .refused = &job_not_deleted});
}

void clear_active(Pass& pass) {
  if (!pass.status.replicaStatuses) return;
  for (auto& [type, counters] : *pass.status.replicaStatuses) counters.active = 0;
}

}  // namespace

bool is_cleaned_up(const Pod& pod, const RunPolicy& policy, const JobStatus& status) {
  if (!is_finished(status)) return true;
  const std::string_view clean = policy.cleanPodPolicy ? *policy.cleanPodPolicy : "None"sv;
  if (clean == "None") return false;
  return clean != "Running" || pod.status.phase == "Running" || pod.status.phase == "Pending";
}

Result<std::optional<Duration>> time_to_expiry(const RunPolicy& policy, const JobStatus& status,
                                               Time now) {
  if (!policy.ttlSecondsAfterFinished || !is_finished(status)) return std::nullopt;
  if (!status.completionTime) return fail(no_completion_time());
  const Duration left =
      *status.completionTime + std::chrono::seconds(*policy.ttlSecondsAfterFinished) - now;
  return std::max(left, Duration::zero());
}

void clean_up(Pass& pass) {
  pass.note(rules::clean_up, pass.job.spec->runPolicy.cleanPodPolicy.value_or("None"));
  delete_pods_and_services(pass);
  delete_pod_group(pass);
  delete_expired_job(pass);
}

void suspend(Pass& pass) {
  clean_up(pass);
  if (pass.over) return;
  clear_active(pass);
  const std::string message = "PyTorchJob " + pass.name() + " is suspended.";
  if (pass.status.is_true(condition::running))
    pass.condition({condition::running, false, reason::suspended, message});
  pass.condition({condition::suspended, true, reason::suspended, message});
  pass.event(rules::suspend, normal, reason::suspended, message);
}

void resume(Pass& pass) {
  const std::string message = "PyTorchJob " + pass.name() + " is resumed.";
  pass.condition({condition::suspended, false, reason::resumed, message});
  pass.status.startTime = pass.now;
  pass.event(rules::resume, normal, reason::resumed, message);
}

}  // namespace ddptwin::controller::pytorchjob
