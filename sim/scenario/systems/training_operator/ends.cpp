// What the training operator promises of the end of a job.
#include <fmt/format.h>

#include <algorithm>

#include "scenario/systems/training_operator/judges.hpp"

namespace ddptwin::scenario::invariants::pytorchjob {
namespace {

bool same(const JobCondition& a, const JobCondition& b) {
  return a.type_ == b.type_ && a.status == b.status && a.reason == b.reason &&
         a.message == b.message && a.lastTransitionTime == b.lastTransitionTime;
}

// Whether a pod of that restart policy, as far as any was seen to fail, fails the job.
bool failure_is_final(const JobFacts& job) {
  for (const TypeFacts& type : job.types) {
    if (type.spec == nullptr) continue;
    const std::string_view restart = type.spec->restart;
    const auto& replicas = type.replicas;
    const bool any = std::any_of(replicas.begin(), replicas.end(), [&](const ReplicaFacts& one) {
      return restart == "ExitCode" ? one.permanent : restart == "Never" && one.failed;
    });
    if (any) return true;
  }
  return false;
}

}  // namespace

const JobStatus* status_of(const Object& job) {
  const auto& status = static_cast<const PyTorchJob&>(job).status;
  return status ? &*status : nullptr;
}

bool is_true(const Object& job, std::string_view condition) {
  const JobStatus* status = status_of(job);
  return status != nullptr && status->is_true(condition);
}

bool deadline_reached(const JobFacts& job, Time now) {
  const Workload& told = job.traits;
  return told.deadline && told.started &&
         now >= *told.started + std::chrono::seconds(*told.deadline);
}

bool limit_reached(const JobFacts& job, Time now) {
  if (const auto& limit = job.traits.backoff) {
    if (job.running_restarts_max >= std::max<std::int64_t>(*limit, 1)) return true;
    if (*limit < 0) return true;
    const auto failed = [](const TypeFacts& type) {
      return std::any_of(type.replicas.begin(), type.replicas.end(),
                         [](const ReplicaFacts& one) { return one.failed; });
    };
    if (*limit == 0 && std::any_of(job.types.begin(), job.types.end(), failed)) return true;
  }
  return deadline_reached(job, now);
}

bool frozen(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const JobStatus *before = status_of(*sight.record->before),
                  *now = status_of(*sight.record->after);
  if (before == nullptr || !before->is_true("Failed")) return false;
  if (now != nullptr && std::equal(before->conditions.begin(), before->conditions.end(),
                                   now->conditions.begin(), now->conditions.end(), &same))
    return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("{} had Failed, and its conditions changed", sight.job->text()));
  return true;
}

bool failed_for_a_reason(const Sight& sight, Verdicts& verdicts) {
  if (!now_failed(sight)) return false;
  const JobFacts& job = *sight.job;
  if (failure_is_final(job) || limit_reached(job, sight.now)) return true;
  verdicts.violated(
      job.text(),
      fmt::format("{} is Failed, and no pod of policy Never failed, none of policy ExitCode failed "
                  "with a permanent code, backoffLimit and activeDeadlineSeconds were not reached",
                  job.text()));
  return true;
}

bool restarting_for_a_reason(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight) || !is_true(*sight.record->after, "Restarting")) return false;
  if (is_true(*sight.record->before, "Restarting")) return false;
  for (const TypeFacts& type : sight.job->types)
    for (const ReplicaFacts& replica : type.replicas)
      if (replica.failed) return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("{} is Restarting, and no pod of its own has failed or was taken "
                                "away while it ran",
                                sight.job->text()));
  return true;
}

bool completion_time_set(const Sight& sight, Verdicts& verdicts) {
  if (!now_succeeded(sight) && !now_failed(sight)) return false;
  if (!sight.job->traits.completed)
    verdicts.violated(sight.job->text(),
                      fmt::format("{} has finished and has no completionTime", sight.job->text()));
  return true;
}

bool restarting_after_end(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  if (sight.job->finished() && is_true(*sight.job->last, "Restarting"))
    verdicts.violated(sight.job->text(),
                      fmt::format("{} has finished and is still Restarting", sight.job->text()));
  return sight.job->finished();
}

}  // namespace ddptwin::scenario::invariants::pytorchjob
