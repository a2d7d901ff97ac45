// Invariants about what must come in time, and about what must stop.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/numbers.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/invariants/standstill.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr Duration leak_slack = std::chrono::seconds(30);   // beyond an object's grace period
constexpr std::int64_t writes_base = 40, writes_each = 20;  // per pod of the job

bool wants_zero(const JobFacts& job) {
  for (int type = 0; type < 2; ++type)
    if (job.spec_of(type) != nullptr && job.wanted(type) < 1) return true;
  return false;
}

bool judge_writes(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  const std::int64_t bound = writes_base + writes_each * std::max(job.wanted(0) + job.wanted(1), 1);
  if (sight.facts.disturbed()) return false;
  if (job.writes <= bound) return true;
  verdicts.violated(job.text(), fmt::format("the operator wrote {} times for {} since anything "
                                            "happened to it",
                                            job.writes, job.text()));
  return true;
}

bool is_mute(const Sight& sight) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || sight.facts.panicked()) return false;
  const bool told = job.last->status && !job.last->status->conditions.empty();
  return !told && job.pods.empty() && job.warned == 0;
}

// Whose fault it is that the API refuses what the operator asks for: mostly it only hands on what
// the manifest says. The first row that fits holds.
struct BlameRow {
  std::string_view verb_and_kind, words;  // of the call, and in the refusal
  std::string_view whose;
};
constexpr std::array blame_rows{
    BlameRow{"create ", "exceeded quota", "the namespace's ResourceQuota stands against the job"},
    BlameRow{"create ", "violates PodSecurity",
             "the namespace's Pod Security level stands against the manifest's template"},
    BlameRow{"create ", "error looking up service account",
             "the manifest names a ServiceAccount that nobody makes"},
    BlameRow{"create ", "pod rejected: RuntimeClass",
             "the manifest names a RuntimeClass that nobody makes"},
    BlameRow{"create pods", "no PriorityClass with name",
             "the manifest names a PriorityClass that nobody makes"},
    BlameRow{"create ", "metadata.name", "the job's name makes names that are not allowed"},
    BlameRow{"create services", "spec.ports",
             "the ports of the manifest's template make no valid Service"},
    BlameRow{"create pods", "is invalid", "the manifest's template makes no valid pod"},
    BlameRow{"create pods", "is forbidden", "the cluster does not allow the manifest's template"},
    BlameRow{"create horizontalpodautoscalers", "is invalid",
             "the manifest's elasticPolicy makes no valid HorizontalPodAutoscaler"},
};

// A part of the pod that the operator adds itself: an init container behind the template's own.
bool is_operators_own(const JobFacts& job, std::string_view text) {
  constexpr std::string_view path = "spec.initContainers[";
  const std::size_t at = text.find(path);
  if (at == text.npos) return false;
  std::string_view rest = text.substr(at + path.size());
  const auto index = take_number<std::size_t>(rest);
  for (int type = 0; type < 2; ++type)
    if (const ReplicaSpec* spec = job.spec_of(type);
        spec != nullptr && index && *index < spec->template_.spec->initContainers.size())
      return false;
  return true;
}

std::string_view who_is_to_blame(const JobFacts& job, std::string_view call,
                                 std::string_view text) {
  if (!is_operators_own(job, text))
    for (const BlameRow& row : blame_rows)
      if (call.starts_with(row.verb_and_kind) && text.find(row.words) != text.npos)
        return row.whose;
  return "the operator asks for what is not allowed";
}

// It can be deleted for its TTL in every version.
bool ends_plainly(const JobFacts& job) {
  return job.last->status && job.last->status->completionTime && !job.suspended();
}

bool judge_ttl(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  const auto& seconds = job.last->spec->runPolicy.ttlSecondsAfterFinished;
  if (sight.record != nullptr) return job.gone && job.finished() && seconds;  // it went in time
  if (!job.live() || !job.finished() || !seconds || sight.facts.disturbed()) return false;
  const Time due = job.finished_at + std::chrono::seconds(*seconds);
  if (sight.now < std::max(due, sight.facts.healed_at()) + leak_slack) return false;
  verdicts.violated(job.text(), fmt::format("{} finished, and is still there {} after its "
                                            "ttlSecondsAfterFinished",
                                            job.text(), format_go_duration(sight.now - due)));
  return true;
}

}  // namespace

bool progress(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (sight.record != nullptr)  // that it ends is all that is wanted
    return job.finished_record == sight.record->id;
  if (!can_stand_still(job, sight.facts) || sight.facts.disturbed()) return false;
  if (sight.now < stands_still_at(job, sight.facts)) return false;
  const Time last = std::max({job.progress_at, job.pushed_at, sight.facts.healed_at()});
  verdicts.violated(job.text(), fmt::format("{} has come no further for {}, {}: {}", job.text(),
                                            format_go_duration(sight.now - last), since_when(job),
                                            who_waits(job, sight.facts, sight.now)));
  return true;
}

bool deadline(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  const auto& seconds = job.last->spec->runPolicy.activeDeadlineSeconds;
  const auto& status = job.last->status;
  if (!seconds || !status || !status->startTime) return false;
  const Time due = *status->startTime + std::chrono::seconds(*seconds);
  if (sight.record != nullptr) return became(sight, "Failed") && sight.now >= due;  // in time
  if (!job.live() || job.finished() || job.suspended() || sight.facts.disturbed()) return false;
  if (sight.now < std::max(due, sight.facts.healed_at()) + leak_slack) return false;
  verdicts.violated(job.text(), fmt::format("{} is still active {} after its activeDeadlineSeconds",
                                            job.text(), format_go_duration(sight.now - due)));
  return true;
}

bool deadline_is_seen(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.suspended() || job.blocked()) return false;
  const auto& seconds = job.last->spec->runPolicy.activeDeadlineSeconds;
  const auto& status = job.last->status;
  if (!seconds || !status || !status->startTime || sight.facts.panicked()) return false;
  constexpr Duration look = std::chrono::seconds(1);
  const Time due = *status->startTime + std::chrono::seconds(*seconds);
  if (job.finished()) return job.finished_at >= due;
  if (job.changed_at < due + look) return false;
  verdicts.violated(job.text(),
                    fmt::format("{} changed at {}, after its activeDeadlineSeconds, and "
                                "was not failed for it",
                                job.text(), format_rfc3339(job.changed_at)));
  return true;
}

bool ttl(const Sight& sight, Verdicts& verdicts) {
  return ends_plainly(*sight.job) && judge_ttl(sight, verdicts);
}

bool ttl_after_all(const Sight& sight, Verdicts& verdicts) {
  return !ends_plainly(*sight.job) && judge_ttl(sight, verdicts);
}

bool quiesce(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->actor != operator_actor) return false;
  return !wants_zero(*sight.job) && judge_writes(sight, verdicts);
}

bool quiesce_at_zero(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->actor != operator_actor) return false;
  return wants_zero(*sight.job) && judge_writes(sight, verdicts);
}

bool no_refused_writes(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.facts.was_disturbed()) return false;
  const std::string_view text = sight.record->text;
  if (text.find(" is invalid") == text.npos && text.find(" is forbidden") == text.npos)
    return false;
  // Nobody can make anything there while it goes (kubernetes.md §1.17).
  if (text.find("because it is being terminated") != text.npos) return false;
  verdicts.violated(sight.job->text(),
                    fmt::format("{}: the operator's call was refused: {}: {}",
                                who_is_to_blame(*sight.job, sight.record->subject, text),
                                sight.record->subject, text));
  return true;
}

bool no_panic(const Sight& sight, Verdicts& verdicts) {
  const Record& record = *sight.record;
  const bool panicked = record.kind == RecordKind::note && record.text.starts_with("panic: ");
  if (!panicked) return record.actor == operator_actor;
  verdicts.violated(std::string(record.actor),
                    fmt::format("{} crashed: {}", record.actor, record.text));
  return true;
}

bool no_leak(const Sight& sight, Verdicts& verdicts) {
  const auto stuck = [&](const ObjectMeta& metadata) {
    return metadata.deletionTimestamp && sight.now > *metadata.deletionTimestamp + leak_slack &&
           sight.now > sight.facts.healed_at() + leak_slack;
  };
  const JobFacts& job = *sight.job;
  const auto tell = [&](const Object& object) {
    verdicts.violated(name_of(object),
                      fmt::format("{} should be gone since {} and is still there", name_of(object),
                                  format_rfc3339(*object.metadata.deletionTimestamp)));
  };
  bool leaves = job.last->metadata.deletionTimestamp.has_value();
  if (!job.gone && stuck(job.last->metadata)) tell(*job.last);
  for (const PodFacts* pod : job.pods) {
    leaves = leaves || pod->terminating();
    if (stuck(pod->last->metadata)) tell(*pod->last);
  }
  return leaves;
}

bool visible(const Sight& sight, Verdicts& verdicts) {
  const bool types = sight.job->spec_of(0) != nullptr || sight.job->spec_of(1) != nullptr;
  if (types && is_mute(sight))
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} has no pod, no condition, and no Warning says why", sight.job->text()));
  return types && sight.job->live();
}

bool visible_without_types(const Sight& sight, Verdicts& verdicts) {
  const bool types = sight.job->spec_of(0) != nullptr || sight.job->spec_of(1) != nullptr;
  if (!types && is_mute(sight))
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} has no replica type, and nothing tells its user", sight.job->text()));
  return !types && sight.job->live();
}

}  // namespace ddptwin::scenario::invariants
