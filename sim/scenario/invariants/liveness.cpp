// Invariants about what must come in time, and about what must stop.
#include <fmt/format.h>

#include <algorithm>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr Duration leak_slack = std::chrono::seconds(30);   // beyond an object's grace period
constexpr std::int64_t writes_base = 40, writes_each = 20;  // per pod of the job

// Why a pod does not run: no node takes it, or a container cannot start.
bool says_why(const PodFacts& pod) {
  const PodCondition* scheduled = pod.last->status.condition("PodScheduled");
  if (scheduled != nullptr && scheduled->status == "False" && !scheduled->reason.empty())
    return true;
  for (const auto* list :
       {&pod.last->status.initContainerStatuses, &pod.last->status.containerStatuses})
    for (const ContainerStatus& one : *list)
      if (one.state.waiting && one.state.waiting->reason != "ContainerCreating" &&
          one.state.waiting->reason != "PodInitializing" && !one.state.waiting->reason.empty())
        return true;
  return false;
}

bool wants_zero(const JobFacts& job) {
  for (int type = 0; type < 2; ++type)
    if (job.spec_of(type) != nullptr && job.wanted(type) < 1) return true;
  return false;
}

void judge_writes(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  const std::int64_t bound = writes_base + writes_each * std::max(job.wanted(0) + job.wanted(1), 1);
  if (job.writes <= bound || sight.facts.disturbed()) return;
  verdicts.violated(job.text(), fmt::format("the operator wrote {} times for {} since anything "
                                            "happened to it",
                                            job.writes, job.text()));
}

bool is_mute(const Sight& sight) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || sight.facts.panicked()) return false;
  const bool told = job.last->status && !job.last->status->conditions.empty();
  return !told && job.pods.empty() && job.warned == 0;
}

// It can be deleted for its TTL in every version.
bool ends_plainly(const JobFacts& job) {
  return job.last->status && job.last->status->completionTime && !job.suspended();
}

void judge_ttl(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  const auto& seconds = job.last->spec->runPolicy.ttlSecondsAfterFinished;
  if (!job.live() || !job.finished() || !seconds || sight.facts.disturbed()) return;
  const Time due = job.finished_at + std::chrono::seconds(*seconds);
  if (sight.now < std::max(due, sight.facts.healed_at()) + leak_slack) return;
  verdicts.violated(job.text(), fmt::format("{} finished, and is still there {} after its "
                                            "ttlSecondsAfterFinished",
                                            job.text(), format_go_duration(sight.now - due)));
}

}  // namespace

void progress(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || !sight.facts.kubelets()) return;
  const Time last = std::max({job.progress_at, job.stimulus_at, sight.facts.healed_at()});
  if (sight.now < last + progress_within) return;
  const auto wanted = static_cast<std::size_t>(std::max(job.wanted(0) + job.wanted(1), 0));
  const auto running = static_cast<std::size_t>(
      std::count_if(job.pods.begin(), job.pods.end(), [](const PodFacts* pod) {
        return (pod->is("Running") && !pod->terminating()) || pod->is("Succeeded");
      }));
  const bool reported = std::any_of(job.pods.begin(), job.pods.end(),
                                    [](const PodFacts* pod) { return says_why(*pod); });
  // Who does not print its steps trains as long as its pods run.
  const bool trains = running == wanted && (job.steps == 0 || job.trained);
  if (trains || reported || has_failed_for_good(job)) return;
  verdicts.violated(job.text(),
                    fmt::format("{} has neither ended nor come forward for {}: {} of {} pods run, "
                                "step {} of {}",
                                job.text(), format_go_duration(progress_within), running, wanted,
                                job.step_max, job.steps));
}

void deadline(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || sight.facts.disturbed()) return;
  const auto& seconds = job.last->spec->runPolicy.activeDeadlineSeconds;
  const auto& status = job.last->status;
  if (!seconds || !status || !status->startTime) return;
  const Time due = *status->startTime + std::chrono::seconds(*seconds);
  if (sight.now < std::max(due, sight.facts.healed_at()) + leak_slack) return;
  verdicts.violated(job.text(), fmt::format("{} is still active {} after its activeDeadlineSeconds",
                                            job.text(), format_go_duration(sight.now - due)));
}

void deadline_is_seen(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || job.blocked()) return;
  const auto& seconds = job.last->spec->runPolicy.activeDeadlineSeconds;
  const auto& status = job.last->status;
  if (!seconds || !status || !status->startTime || sight.facts.panicked()) return;
  constexpr Duration look = std::chrono::seconds(1);
  if (job.changed_at < *status->startTime + std::chrono::seconds(*seconds) + look) return;
  verdicts.violated(job.text(),
                    fmt::format("{} changed at {}, after its activeDeadlineSeconds, and "
                                "was not failed for it",
                                job.text(), format_rfc3339(job.changed_at)));
}

void ttl(const Sight& sight, Verdicts& verdicts) {
  if (ends_plainly(*sight.job)) judge_ttl(sight, verdicts);
}

void ttl_after_all(const Sight& sight, Verdicts& verdicts) {
  if (!ends_plainly(*sight.job)) judge_ttl(sight, verdicts);
}

void quiesce(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->actor != operator_actor) return;
  if (!wants_zero(*sight.job)) judge_writes(sight, verdicts);
}

void quiesce_at_zero(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->actor != operator_actor) return;
  if (wants_zero(*sight.job)) judge_writes(sight, verdicts);
}

void no_refused_writes(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.facts.was_disturbed()) return;
  const std::string_view text = sight.record->text;
  if (text.find(" is invalid") == text.npos && text.find(" is forbidden") == text.npos) return;
  // Nobody can make anything there while it goes (kubernetes.md §1.17).
  if (text.find("because it is being terminated") != text.npos) return;
  verdicts.violated(sight.job->text(), fmt::format("the operator's call was refused: {}: {}",
                                                   sight.record->subject, text));
}

void no_panic(const Sight& sight, Verdicts& verdicts) {
  const Record& record = *sight.record;
  if (record.kind != RecordKind::note || !record.text.starts_with("panic: ")) return;
  verdicts.violated(std::string(record.actor),
                    fmt::format("{} crashed: {}", record.actor, record.text));
}

void no_leak(const Sight& sight, Verdicts& verdicts) {
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
  if (!job.gone && stuck(job.last->metadata)) return tell(*job.last);
  for (const PodFacts* pod : job.pods)
    if (stuck(pod->last->metadata)) return tell(*pod->last);
}

void visible(const Sight& sight, Verdicts& verdicts) {
  const bool types = sight.job->spec_of(0) != nullptr || sight.job->spec_of(1) != nullptr;
  if (types && is_mute(sight))
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} has no pod, no condition, and no Warning says why", sight.job->text()));
}

void visible_without_types(const Sight& sight, Verdicts& verdicts) {
  const bool types = sight.job->spec_of(0) != nullptr || sight.job->spec_of(1) != nullptr;
  if (!types && is_mute(sight))
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} has no replica type, and nothing tells its user", sight.job->text()));
}

}  // namespace ddptwin::scenario::invariants
