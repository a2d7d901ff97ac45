// Invariants about the end of a job: what may bring it, and that it stays.
#include <fmt/format.h>

#include <algorithm>

#include "objects/pod_phase.hpp"
#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

// The condition that ends a job, where it has one.
std::string_view end_of(const Workload& job, const WorkloadReader& reader) {
  if (job.succeeded) return reader.success;
  return job.failed ? reader.failure : std::string_view();
}

// Of its status, which names the version that it was written from.
bool is_update_of(std::string_view call, const KindInfo& kind) {
  constexpr std::string_view verb = "update ";
  return call.starts_with(verb) && call.substr(verb.size()).starts_with(kind.plural);
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

}  // namespace

bool has_failed_for_good(const JobFacts& job) {
  for (const PodFacts* pod : job.pods) {
    const Workload::Group* spec = pod->type < 0 ? nullptr : job.spec_of(pod->type);
    if (spec == nullptr || spec->restart != "ExitCode" || !pod->is("Failed")) continue;
    if (pod->replica().permanent) return true;
  }
  return false;
}

bool now_succeeded(const Sight& sight) {
  return sight.record->after != nullptr && sight.job->became(&Workload::succeeded);
}

bool now_failed(const Sight& sight) {
  return sight.record->after != nullptr && sight.job->became(&Workload::failed);
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
  const JobFacts& job = *sight.job;
  const std::string_view was = end_of(job.before, *job.reader),
                         is = end_of(job.traits, *job.reader);
  if (!was.empty() && was != is)
    verdicts.violated(job.text(), fmt::format("{} was {} and is {}", job.text(), was,
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
      if (!job->finished() || sight.pod == nullptr) return false;
      if (record.actor != job->reader->pods_by) return false;
      // The pass after the one that ends the job may begin before the watch has told of the end. It
      // writes no status that could be refused where it has nothing new to say.
      if (record.time == job->finished_at) return false;
      job->late_record = record.id;
      job->late_pod = name_of(*record.after);
      return true;
    case RecordKind::object_modified:
      // A status that was accepted was written from the finished job.
      return record.actor == job->reader->actor && sight.pod == nullptr &&
             settle_suspicion(sight, verdicts);
    case RecordKind::api_refused:
      if (is_update_of(record.subject, job->reader->info())) job->late_record = 0;
      return false;
    default:
      return false;
  }
}

bool one_end(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  const JobFacts& job = *sight.job;
  if (job.traits.succeeded && job.traits.failed)
    verdicts.violated(job.text(), fmt::format("{} is {} and {} at once", job.text(),
                                              job.reader->success, job.reader->failure));
  return job.finished();
}

bool succeeded_for_a_reason(const Sight& sight, Verdicts& verdicts) {
  if (!now_succeeded(sight)) return false;
  const JobFacts& job = *sight.job;
  for (int type = 0; type < job.type_count(); ++type) {
    const TypeFacts& facts = job.type(type);
    if (facts.spec == nullptr) continue;
    if (facts.spec->first_decides && (facts.replicas.empty() || !facts.replicas.front().succeeded))
      verdicts.violated(job.text(), fmt::format("{} is {}, and {} has not succeeded", job.text(),
                                                job.reader->success, job.replica_text(type, 0)));
    if (!facts.spec->decides) continue;
    const auto succeeded = std::count_if(facts.replicas.begin(), facts.replicas.end(),
                                         [](const ReplicaFacts& one) { return one.succeeded; });
    if (succeeded >= facts.wanted_min || (facts.spec->one_is_enough && succeeded > 0)) continue;
    verdicts.violated(job.text(), fmt::format("{} is {}, and {} of {} {} pods succeeded",
                                              job.text(), job.reader->success, succeeded,
                                              facts.wanted_min, job.type_text(type)));
  }
  return true;
}

bool trained_to_the_end(const Sight& sight, Verdicts& verdicts) {
  if (!now_succeeded(sight)) return false;
  const JobFacts& job = *sight.job;
  if (job.steps > 0 && !job.trained)
    verdicts.violated(job.text(), fmt::format("{} is {} after step {} of {}", job.text(),
                                              job.reader->success, job.step_max, job.steps));
  return job.steps > 0;
}

}  // namespace ddptwin::scenario::invariants
