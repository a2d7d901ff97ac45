// Invariants about the end of a job: what may bring it, and that it stays.
#include <fmt/format.h>

#include <algorithm>

#include "objects/pod_phase.hpp"
#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

// The condition that ends a job, where it has one.
std::string_view end_of(const PyTorchJob& job) {
  if (!job.status) return {};
  for (const std::string_view type : {"Succeeded", "Failed"})
    if (job.status->is_true(type)) return type;
  return {};
}

bool same(const JobCondition& a, const JobCondition& b) {
  return a.type_ == b.type_ && a.status == b.status && a.reason == b.reason &&
         a.message == b.message && a.lastTransitionTime == b.lastTransitionTime;
}

bool settle_suspicion(const Sight& sight, Verdicts& verdicts) {
  JobFacts& job = *sight.job;
  if (job.late_record == 0) return job.finished();
  verdicts.violated(job.text(),
                    fmt::format("{} was made by record {}, after {} had finished by "
                                "record {}, and not from a stale cache",
                                job.late_pod, job.late_record, job.text(), job.finished_record));
  job.late_record = 0;
  return true;
}

// Whether a pod of that restart policy, as far as any was seen to fail, fails the job.
bool failure_is_final(const JobFacts& job) {
  for (int type = 0; type < 2; ++type) {
    const ReplicaSpec* spec = job.spec_of(type);
    if (spec == nullptr) continue;
    const auto& replicas = job.types[static_cast<std::size_t>(type)].replicas;
    const bool any = std::any_of(replicas.begin(), replicas.end(), [&](const ReplicaFacts& one) {
      return spec->restartPolicy == "ExitCode" ? one.permanent
                                               : spec->restartPolicy == "Never" && one.failed;
    });
    if (any) return true;
  }
  return false;
}

}  // namespace

bool has_failed_for_good(const JobFacts& job) {
  for (const PodFacts* pod : job.pods) {
    const ReplicaSpec* spec = pod->type < 0 ? nullptr : job.spec_of(pod->type);
    if (spec == nullptr || spec->restartPolicy != "ExitCode" || !pod->is("Failed")) continue;
    if (job.types[static_cast<std::size_t>(pod->type)]
            .replicas[static_cast<std::size_t>(pod->index)]
            .permanent)
      return true;
  }
  return false;
}

bool became(const Sight& sight, std::string_view condition) {
  const Record& record = *sight.record;
  if (record.after == nullptr) return false;
  const auto& now = static_cast<const PyTorchJob&>(*record.after);
  if (!now.status || !now.status->is_true(condition)) return false;
  if (record.before == nullptr) return true;
  const auto& before = static_cast<const PyTorchJob&>(*record.before);
  return !before.status || !before.status->is_true(condition);
}

bool terminal(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const Record& record = *sight.record;
  if (const Pod* before = as<Pod>(*record.before)) {
    const Pod& now = static_cast<const Pod&>(*record.after);
    if (is_terminal_phase(before->status.phase) && before->status.phase != now.status.phase)
      verdicts.violated(name_of(now), fmt::format("{} was {} and became {}", name_of(now),
                                                  before->status.phase, now.status.phase));
    return is_terminal_phase(before->status.phase);
  }
  const auto& before = static_cast<const PyTorchJob&>(*record.before);
  const auto& now = static_cast<const PyTorchJob&>(*record.after);
  const std::string_view was = end_of(before), is = end_of(now);
  if (!was.empty() && was != is)
    verdicts.violated(name_of(now), fmt::format("{} was {} and is {}", name_of(now), was,
                                                is.empty() ? "no longer finished" : is));
  return !was.empty();
}

bool no_new_pods(const Sight& sight, Verdicts& verdicts) {
  JobFacts* job = sight.job;
  if (job == nullptr) return false;
  if (sight.record == nullptr) return settle_suspicion(sight, verdicts);  // at rest
  const Record& record = *sight.record;
  switch (record.kind) {
    case RecordKind::object_added:
      if (!job->finished() || sight.pod == nullptr || record.actor != operator_actor) return false;
      // The pass after the one that ends the job may begin before the watch has told of the end. It
      // writes no status that could be refused where it has nothing new to say.
      if (record.time == job->finished_at) return false;
      job->late_record = record.id;
      job->late_pod = name_of(*record.after);
      return true;
    case RecordKind::object_modified:
      // A status that was accepted was written from the finished job.
      return record.actor == operator_actor && sight.pod == nullptr &&
             settle_suspicion(sight, verdicts);
    case RecordKind::api_refused:
      if (record.subject.starts_with("update pytorchjobs")) job->late_record = 0;
      return false;
    default:
      return false;
  }
}

bool frozen(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const auto& before = static_cast<const PyTorchJob&>(*sight.record->before).status;
  const auto& now = static_cast<const PyTorchJob&>(*sight.record->after).status;
  if (!before || !before->is_true("Failed")) return false;
  if (now && std::equal(before->conditions.begin(), before->conditions.end(),
                        now->conditions.begin(), now->conditions.end(), &same))
    return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("{} had Failed, and its conditions changed", sight.job->text()));
  return true;
}

bool one_end(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  const auto& status = sight.job->last->status;
  if (status && status->is_true("Succeeded") && status->is_true("Failed"))
    verdicts.violated(sight.job->text(),
                      fmt::format("{} is Succeeded and Failed at once", sight.job->text()));
  return sight.job->finished();
}

bool limit_reached(const JobFacts& job, Time now) {
  const RunPolicy& policy = job.last->spec->runPolicy;
  if (policy.backoffLimit) {
    if (job.running_restarts_max >= std::max(*policy.backoffLimit, 1)) return true;
    if (*policy.backoffLimit < 0) return true;
    const auto failed = [](const TypeFacts& type) {
      return std::any_of(type.replicas.begin(), type.replicas.end(),
                         [](const ReplicaFacts& one) { return one.failed; });
    };
    if (*policy.backoffLimit == 0 && (failed(job.types[0]) || failed(job.types[1]))) return true;
  }
  const auto& status = job.last->status;
  return policy.activeDeadlineSeconds && status && status->startTime &&
         now >= *status->startTime + std::chrono::seconds(*policy.activeDeadlineSeconds);
}

bool failed_for_a_reason(const Sight& sight, Verdicts& verdicts) {
  if (!became(sight, "Failed")) return false;
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
  if (!is_change(sight) || !became(sight, "Restarting")) return false;
  for (const TypeFacts& type : sight.job->types)
    for (const ReplicaFacts& replica : type.replicas)
      if (replica.failed) return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("{} is Restarting, and no pod of its own has failed or was taken "
                                "away while it ran",
                                sight.job->text()));
  return true;
}

bool succeeded_for_a_reason(const Sight& sight, Verdicts& verdicts) {
  if (!became(sight, "Succeeded")) return false;
  const JobFacts& job = *sight.job;
  const int type = job.has_master() ? 0 : 1;
  const TypeFacts& facts = job.types[static_cast<std::size_t>(type)];
  const auto succeeded = std::count_if(facts.replicas.begin(), facts.replicas.end(),
                                       [](const ReplicaFacts& one) { return one.succeeded; });
  const bool elastic = type == 1 && job.last->spec->elasticPolicy.has_value();
  if (succeeded >= facts.wanted_min || (elastic && succeeded > 0)) return true;
  verdicts.violated(job.text(),
                    fmt::format("{} is Succeeded, and {} of {} {} pods succeeded", job.text(),
                                succeeded, facts.wanted_min, type_name(type)));
  return true;
}

bool trained_to_the_end(const Sight& sight, Verdicts& verdicts) {
  if (!became(sight, "Succeeded")) return false;
  const JobFacts& job = *sight.job;
  if (job.steps > 0 && !job.trained)
    verdicts.violated(job.text(), fmt::format("{} is Succeeded after step {} of {}", job.text(),
                                              job.step_max, job.steps));
  return job.steps > 0;
}

bool completion_time_set(const Sight& sight, Verdicts& verdicts) {
  if (!became(sight, "Succeeded") && !became(sight, "Failed")) return false;
  if (!sight.job->last->status->completionTime)
    verdicts.violated(sight.job->text(),
                      fmt::format("{} has finished and has no completionTime", sight.job->text()));
  return true;
}

bool restarting_after_end(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  const auto& status = sight.job->last->status;
  if (sight.job->finished() && status && status->is_true("Restarting"))
    verdicts.violated(sight.job->text(),
                      fmt::format("{} has finished and is still Restarting", sight.job->text()));
  return sight.job->finished();
}

}  // namespace ddptwin::scenario::invariants
