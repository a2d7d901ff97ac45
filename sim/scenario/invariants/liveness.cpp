// Invariants about what must come in time, and about what must stop.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/numbers.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/invariants/standstill.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr std::int64_t writes_base = 40, writes_each = 20;  // per pod of the job

bool is_mute(const Sight& sight) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || sight.facts.panicked()) return false;
  return !job.traits.told && job.pods.empty() && job.warned == 0;
}

// Whose fault it is that the API refuses what the operator asks for: mostly it only hands on what
// the manifest says. The first row that fits holds.
struct BlameRow {
  std::string_view verb_and_kind, words;  // of the call, and in the refusal
  std::string_view whose;
  std::string_view event{};  // that tells of it, where it is none of FailedCreate...
};
constexpr std::array blame_rows{
    BlameRow{"create ", "exceeded quota", "the namespace's ResourceQuota stands against the job"},
    BlameRow{"create pods", "failed quota",
             "the namespace's ResourceQuota asks for more than the manifest's template says"},
    BlameRow{"create pods", " usage per ",
             "the namespace's LimitRange stands against the manifest's template"},
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
    BlameRow{"create jobs", "is invalid", "the manifest's template makes no valid Job",
             "JobCreationFailed"},
    BlameRow{"create jobs", "is forbidden", "the cluster does not allow the manifest's template",
             "JobCreationFailed"},
    BlameRow{"patch jobsets", "is invalid", "the manifest and its runtime make no valid JobSet",
             "TrainJobResourcesCreationFailed"},
    BlameRow{"patch jobsets", "is forbidden",
             "the cluster does not allow the JobSet of the manifest and its runtime",
             "TrainJobResourcesCreationFailed"},
};

// A part of the pod that the operator adds itself: an init container behind the template's own.
bool is_operators_own(const JobFacts& job, std::string_view text) {
  constexpr std::string_view path = "spec.initContainers[";
  const std::size_t at = text.find(path);
  if (at == text.npos) return false;
  std::string_view rest = text.substr(at + path.size());
  const auto index = take_number<std::size_t>(rest);
  for (const Workload::Group& group : job.traits.groups)
    if (index && *index < group.init_containers) return false;
  return true;
}

// Null: the operator itself.
const BlameRow* who_is_to_blame(const JobFacts& job, std::string_view call, std::string_view text) {
  if (is_operators_own(job, text)) return nullptr;
  for (const BlameRow& row : blame_rows)
    if (call.starts_with(row.verb_and_kind) && text.find(row.words) != text.npos) return &row;
  return nullptr;
}

// "pods" of "Pod".
bool is_plural_of(std::string_view plural, std::string_view kind) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  };
  return plural.ends_with('s') &&
         std::equal(kind.begin(), kind.end(), plural.begin(), plural.end() - 1, same);
}

// The scenario waits for the Event that tells of such a refusal: FailedCreatePod, or FailedCreate
// of whatever is made.
bool is_awaited(const Facts& facts, std::string_view call) {
  constexpr std::string_view verb = "create ", failed = "FailedCreate";
  if (!call.starts_with(verb)) return false;
  const std::string_view plural =
      call.substr(verb.size(), call.find(' ', verb.size()) - verb.size());
  return std::any_of(facts.awaited_events().begin(), facts.awaited_events().end(),
                     [&](std::string_view reason) {
                       if (!reason.starts_with(failed)) return false;
                       reason.remove_prefix(failed.size());
                       return reason.empty() || is_plural_of(plural, reason);
                     });
}

}  // namespace

bool judge_writes(const Sight& sight, Verdicts& verdicts) {
  if (sight.facts.disturbed()) return false;
  const JobFacts& job = *sight.job;
  const std::int64_t bound = writes_base + writes_each * std::max(job.wanted(), 1);
  if (job.writes <= bound) return true;
  verdicts.violated(job.text(), fmt::format("the operator wrote {} times for {} since anything "
                                            "happened to it",
                                            job.writes, job.text()));
  return true;
}

bool judge_ttl(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  const auto& seconds = job.traits.ttl;
  if (sight.record != nullptr) return job.gone && job.finished() && seconds;  // it went in time
  if (!job.live() || !job.finished() || !seconds || sight.facts.disturbed()) return false;
  const Time due = job.finished_at + std::chrono::seconds(*seconds);
  if (sight.now < std::max(due, sight.facts.healed_at()) + leak_slack) return false;
  verdicts.violated(job.text(), fmt::format("{} finished, and is still there {} after its "
                                            "ttlSecondsAfterFinished",
                                            job.text(), format_go_duration(sight.now - due)));
  return true;
}

bool judge_visible(const Sight& sight, Verdicts& verdicts, std::string_view what) {
  if (is_mute(sight))
    verdicts.violated(sight.job->text(), fmt::format("{} {}", sight.job->text(), what));
  return sight.job->live();
}

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
  const auto& seconds = job.traits.deadline;
  if (!seconds || !job.traits.started) return false;
  const Time due = *job.traits.started + std::chrono::seconds(*seconds);
  if (sight.record != nullptr) return now_failed(sight) && sight.now >= due;  // in time
  if (!job.live() || job.finished() || job.suspended() || sight.facts.disturbed()) return false;
  if (job.traits.ends) return true;
  if (sight.now < std::max(due, sight.facts.healed_at()) + leak_slack) return false;
  verdicts.violated(job.text(), fmt::format("{} is still active {} after its activeDeadlineSeconds",
                                            job.text(), format_go_duration(sight.now - due)));
  return true;
}

bool deadline_is_seen(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.suspended() || job.blocked()) return false;
  const auto& seconds = job.traits.deadline;
  if (!seconds || !job.traits.started || sight.facts.panicked()) return false;
  constexpr Duration look = std::chrono::seconds(1);
  const Time due = *job.traits.started + std::chrono::seconds(*seconds);
  if (job.finished()) return job.finished_at >= due;
  if (job.traits.ends) return true;
  if (job.changed_at < due + look) return false;
  verdicts.violated(job.text(),
                    fmt::format("{} changed at {}, after its activeDeadlineSeconds, and "
                                "was not failed for it",
                                job.text(), format_rfc3339(job.changed_at)));
  return true;
}

bool ends_plainly(const JobFacts& job) { return job.traits.completed && !job.suspended(); }

bool ttl(const Sight& sight, Verdicts& verdicts) {
  return ends_plainly(*sight.job) && judge_ttl(sight, verdicts);
}

bool wants_zero(const JobFacts& job) {
  return std::any_of(job.traits.groups.begin(), job.traits.groups.end(),
                     [](const Workload::Group& group) { return group.wanted < 1; });
}

bool quiesce(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->actor != sight.job->reader->actor) return false;
  return !wants_zero(*sight.job) && judge_writes(sight, verdicts);
}

bool no_refused_writes(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.facts.was_disturbed()) return false;
  const std::string_view text = sight.record->text;
  if (text.find(" is invalid") == text.npos && text.find(" is forbidden") == text.npos)
    return false;
  // Nobody can make anything there while it goes (kubernetes.md §1.17).
  if (text.find("because it is being terminated") != text.npos) return false;
  const BlameRow* blamed = who_is_to_blame(*sight.job, sight.record->subject, text);
  if (blamed != nullptr && (is_awaited(sight.facts, sight.record->subject) ||
                            sight.facts.awaited_events().contains(blamed->event)))
    return true;
  verdicts.violated(
      sight.job->text(),
      fmt::format("{}: the operator's call was refused: {}: {}",
                  blamed != nullptr ? blamed->whose : "the operator asks for what is not allowed",
                  sight.record->subject, text));
  return true;
}

bool no_panic(const Sight& sight, Verdicts& verdicts) {
  const Record& record = *sight.record;
  const bool panicked = record.kind == RecordKind::note && record.text.starts_with("panic: ");
  if (!panicked) return sight.facts.is_operator(record.actor);
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
  return !sight.job->traits.groups.empty() &&
         judge_visible(sight, verdicts, "has no pod, no condition, and no Warning says why");
}

}  // namespace ddptwin::scenario::invariants
