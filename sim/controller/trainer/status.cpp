#include "controller/trainer/status.hpp"

#include <algorithm>
#include <array>

namespace ddptwin::controller::trainer {
namespace {

JobSetCondition condition_of(std::string_view type, bool holds, std::string_view reason,
                             std::string message) {
  JobSetCondition condition;
  condition.type_ = type;
  condition.status = holds ? "True" : "False";
  condition.reason = reason;
  condition.message = std::move(message);
  return condition;
}

const JobSetCondition* failure_by_deadline(const TrainJobStatus& status) {
  const JobSetCondition* failed = status.condition("Failed");
  return failed != nullptr && failed->reason == deadline_exceeded ? failed : nullptr;
}

// What a JobSet's end is called here.
struct End {
  std::string_view of_set, here;
};
constexpr std::array ends{End{"Completed", "Complete"}, End{"Failed", "Failed"}};

TrainJobJobStatus counters_of(const ReplicatedJobStatus& from) {
  TrainJobJobStatus counters;
  counters.name = from.name;
  counters.ready = from.ready;
  counters.succeeded = from.succeeded;
  counters.failed = from.failed;
  counters.active = from.active;
  counters.suspended = from.suspended;
  return counters;
}

}  // namespace

void set_condition(TrainJobStatus& status, JobSetCondition condition, Time now) {
  if (!condition.lastTransitionTime) condition.lastTransitionTime = now.floor_seconds();
  for (JobSetCondition& one : status.conditions) {
    if (one.type_ != condition.type_) continue;
    if (one.status == condition.status) condition.lastTransitionTime = one.lastTransitionTime;
    one = std::move(condition);
    return;
  }
  status.conditions.push_back(std::move(condition));
}

void forget_failure(TrainJobStatus& status, const Profile& profile) {
  if (profile.leaves_failed || failure_by_deadline(status) != nullptr) return;
  std::erase_if(status.conditions,
                [](const JobSetCondition& one) { return one.type_ == "Failed"; });
}

void fail_with(TrainJobStatus& status, std::string_view reason, std::string message, Time now) {
  set_condition(status, condition_of("Failed", true, reason, std::move(message)), now);
}

void tell_suspension(TrainJobStatus& status, const TrainJob& job, Time now) {
  if (job.spec->is_suspended())
    set_condition(status, condition_of("Suspended", true, "Suspended", "TrainJob is suspended"),
                  now);
  else if (status.is_true("Suspended"))
    set_condition(status, condition_of("Suspended", false, "Resumed", "TrainJob is resumed"), now);
}

void take_over(TrainJobStatus& status, const JobSetStatus& from, const Profile& profile, Time now) {
  std::optional<JobSetCondition> by_deadline;
  if (const JobSetCondition* failed = failure_by_deadline(status)) by_deadline = *failed;
  for (const End& end : ends) {
    if (!from.is_true(end.of_set)) continue;
    JobSetCondition condition = *from.condition(end.of_set);
    condition.type_ = end.here;
    set_condition(status, std::move(condition), now);
    if (!profile.writes_jobs_status) break;
  }
  if (by_deadline) set_condition(status, *by_deadline, now);
  if (!profile.writes_jobs_status) return;
  status.jobsStatus.clear();
  for (const ReplicatedJobStatus& one : from.replicatedJobsStatus)
    status.jobsStatus.push_back(counters_of(one));
}

OptionalTime deadline_of(const TrainJob& job, const TrainJobStatus& status) {
  if (job.spec->activeDeadlineSeconds == 0 || status.is_finished() || job.spec->is_suspended())
    return {};
  OptionalTime start = job.metadata.creationTimestamp;
  const JobSetCondition* suspended = status.condition("Suspended");
  if (suspended != nullptr && suspended->status == "False") start = suspended->lastTransitionTime;
  if (!start) return {};
  return *start + std::chrono::seconds(job.spec->activeDeadlineSeconds);
}

}  // namespace ddptwin::controller::trainer
