// What the JobSet controller promises of its sets (spec/trainjob.md §5, §11.10).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/numbers.hpp"
#include "objects/jobset.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/jobset/parts.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;

const JobSetStatus& status_of_set(const Object& object) {
  static const JobSetStatus none{};
  const auto& status = as<JobSet>(object)->status;
  return status ? *status : none;
}

bool end_is_told_alike(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr || !sight.job->finished()) return false;
  const JobSetStatus& status = status_of_set(*sight.record->after);
  const std::string_view wanted = sight.job->traits.succeeded ? "Completed" : "Failed";
  if (status.terminalState != wanted)
    verdicts.violated(sight.job->text(),
                      fmt::format("{} is {}, and its terminalState is \"{}\"", sight.job->text(),
                                  wanted, status.terminalState));
  return true;
}

bool restarts_are_counted(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const JobSetStatus &was = status_of_set(*sight.record->before),
                     &is = status_of_set(*sight.record->after);
  const std::string set = sight.job->text();
  if (is.restarts < was.restarts || is.restartsCountTowardsMax < was.restartsCountTowardsMax)
    verdicts.violated(
        set, fmt::format("the restarts of {} went from {} to {}", set, was.restarts, is.restarts));
  if (is.restartsCountTowardsMax > is.restarts)
    verdicts.violated(set, fmt::format("{} counts {} of {} restarts", set,
                                       is.restartsCountTowardsMax, is.restarts));
  const auto& policy = as<JobSet>(*sight.record->after)->spec->failurePolicy;
  const std::int32_t most = policy ? std::max(policy->maxRestarts, 0) : 0;
  if (is.restartsCountTowardsMax > most)
    verdicts.violated(set, fmt::format("{} was restarted {} times, and may be {} times", set,
                                       is.restartsCountTowardsMax, most));
  return true;
}

bool counters_fit(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  const JobSet& set = *as<JobSet>(*sight.record->after);
  if (!set.status) return false;
  for (const ReplicatedJobStatus& one : set.status->replicatedJobsStatus)
    for (const ReplicatedJob& of : set.spec->replicatedJobs) {
      if (of.name != one.name) continue;
      const std::int32_t jobs = one.ready + one.succeeded + one.failed;
      if (jobs > std::max(of.replicas, 0) || one.suspended > std::max(of.replicas, 0))
        verdicts.violated(
            sight.job->text(),
            fmt::format("{} tells of {} Jobs of {}, {} of them suspended, and wants "
                        "{}",
                        sight.job->text(), jobs, one.name, one.suspended, of.replicas));
    }
  return true;
}

bool resumes_after_pause(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const auto told = [](const JobSetStatus& status) -> std::string_view {
    for (const JobSetCondition& one : status.conditions)
      if (one.type_ == "Suspended") return one.status;
    return {};
  };
  if (told(status_of_set(*sight.record->after)) != "False") return false;
  if (told(status_of_set(*sight.record->before)).empty())
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} says that it was resumed, and never said Suspended", sight.job->text()));
  return true;
}

// Part of it that the record makes: a Job of a JobSet; null: it makes none.
const JobFacts* set_of_new_job(const Sight& sight) {
  if (sight.job == nullptr || !sight.job->is_part || sight.pod != nullptr) return nullptr;
  if (sight.record->kind != RecordKind::object_added || as<Job>(*sight.record->after) == nullptr)
    return nullptr;
  return sight.facts.whole_of(*sight.job);
}

// A cache that does not know the end yet is behind by less.
constexpr Duration end_is_known = std::chrono::seconds(1);

bool finished_makes_no_job(const Sight& sight, Verdicts& verdicts) {
  const JobFacts* set = set_of_new_job(sight);
  if (set == nullptr || sight.facts.was_disturbed()) return false;
  if (set->finished() && sight.record->actor == jobset_actor &&
      sight.now > set->finished_at + end_is_known)
    verdicts.violated(set->text(), fmt::format("{} has ended, and {} is made for it", set->text(),
                                               sight.job->text()));
  return true;
}

std::string_view label_of(const Object& object, std::string_view name) {
  const Text* label = object.metadata.label(name);
  return label == nullptr ? std::string_view() : label->view();
}

// How many Jobs of that replicated job have succeeded in the run of this one.
int succeeded_beside(const JobFacts& set, std::string_view name, const Object& job) {
  constexpr std::string_view run = "jobset.sigs.k8s.io/restart-attempt";
  return static_cast<int>(std::count_if(set.made.begin(), set.made.end(), [&](const JobFacts* one) {
    return one->traits.succeeded && label_of(*one->last, run) == label_of(job, run) &&
           label_of(*one->last, "jobset.sigs.k8s.io/replicatedjob-name") == name;
  }));
}

bool waits_for_what_it_needs(const Sight& sight, Verdicts& verdicts) {
  const JobFacts* set = set_of_new_job(sight);
  if (set == nullptr) return false;
  const Object& job = *sight.record->after;
  const std::string_view name = label_of(job, "jobset.sigs.k8s.io/replicatedjob-name");
  const JobSetSpec& spec = *as<JobSet>(*set->last)->spec;
  const auto named = [&spec](std::string_view one) {
    return std::find_if(spec.replicatedJobs.begin(), spec.replicatedJobs.end(),
                        [one](const ReplicatedJob& of) { return of.name == one; });
  };
  const auto own = named(name);
  if (own == spec.replicatedJobs.end() || !own->dependsOn) return false;
  bool asked = false;
  for (const JobSetDependency& needed : *own->dependsOn) {
    const auto other = named(needed.name);
    if (needed.status != "Complete" || other == spec.replicatedJobs.end()) continue;
    asked = true;
    if (succeeded_beside(*set, needed.name, job) < std::max(other->replicas, 0))
      verdicts.violated(set->text(),
                        fmt::format("{} was made before all Jobs of {} had succeeded in its run",
                                    sight.job->text(), needed.name));
  }
  return asked;
}

// Which run of its set a pod is of; nothing: it does not tell.
std::optional<std::int32_t> run_of(const PodFacts& pod) {
  const Text* label = pod.last->metadata.label("jobset.sigs.k8s.io/restart-attempt");
  return label == nullptr ? std::nullopt : whole_number<std::int32_t>(*label);
}

// What its controller makes for it stands in the run that its status names.
bool makes_this_run(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.pod == nullptr) return false;
  if (sight.record->kind != RecordKind::object_added) return false;
  const auto run = run_of(*sight.pod);
  if (!run) return false;
  const std::int32_t now = status_of_set(*sight.job->last).restarts;
  // A Job of the run before may replace a pod while its deletion is on the way.
  if (*run > now)
    verdicts.violated(name_of(*sight.pod->last),
                      fmt::format("{} is of run {}, and {} is in run {}", name_of(*sight.pod->last),
                                  *run, sight.job->text(), now));
  return true;
}

bool runs_alone(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& set = *sight.job;
  if (!has_settled(sight) || sight.facts.disturbed() || set.finished()) return false;
  const std::int32_t now = status_of_set(*set.last).restarts;
  for (const PodFacts* pod : set.pods) {
    const auto run = run_of(*pod);
    if (!run || pod->terminating() || *run == now) continue;
    verdicts.violated(set.text(), fmt::format("{} is in run {}, and {} of run {} is still there",
                                              set.text(), now, name_of(*pod->last), *run));
    return true;
  }
  return true;
}

constexpr std::uint32_t about_set = topics(Topic::job), about_its_pods = topics(Topic::pod),
                        at_rest_only = 0;

constexpr std::array jobset_rows{
    InvariantRow{"jobset-end-told-alike", "I08",
                 "A JobSet's terminalState is the condition that ended it.",
                 "Both come in one write, and stay.", "", false, about_set, &end_is_told_alike,
                 nullptr, nullptr},
    InvariantRow{"jobset-counts-restarts", "I07",
                 "A JobSet is restarted no more often than its failure policy allows.",
                 "Restarts never decrease; those that count are some of them, and no more than "
                 "maxRestarts.",
                 "", false, about_set, &restarts_are_counted, nullptr, nullptr},
    InvariantRow{"jobset-counters-fit", "I10",
                 "A JobSet tells of no more Jobs of a replicated job than it wants.",
                 "Ready, succeeded and failed ones together, and suspended ones.", "", false,
                 about_set, &counters_fit, nullptr, nullptr},
    InvariantRow{"jobset-resumes-after-suspension", "I16",
                 "A JobSet says Suspended False only after Suspended True.",
                 "What was never suspended has no such condition.", "", false, about_set,
                 &resumes_after_pause, nullptr, nullptr},
    InvariantRow{"jobset-pods-of-this-run", "I06",
                 "No pod of a JobSet is of a later run than its status names.",
                 "The label jobset.sigs.k8s.io/restart-attempt of a new pod is the number of "
                 "restarts, or a lower one whose Job is about to go.",
                 "", false, about_its_pods, &makes_this_run, nullptr, nullptr},
    InvariantRow{"jobset-old-runs-end", "I06",
                 "At rest all pods of a JobSet that has not ended are of the run that it is in.",
                 "Jobs of the runs before are deleted, and their pods with them.", "", false,
                 at_rest_only, nullptr, &runs_alone, nullptr},
    InvariantRow{.name = "jobset-finished-makes-nothing",
                 .id = "I08",
                 .meaning = "No Job is made for a JobSet that has ended.",
                 .explanation = "Later than a second after its end, and in runs without faults: "
                                "before that the cache may not know of it.",
                 .broken_by = "",
                 .strict = false,
                 .topics = about_set,
                 .after = &finished_makes_no_job,
                 .at_rest = nullptr,
                 .when_due = nullptr,
                 .of_parts = true},
    InvariantRow{.name = "jobset-waits-for-dependencies",
                 .id = "I12",
                 .meaning = "A Job is made once all that its dependsOn names has succeeded.",
                 .explanation =
                     "Of status Complete, and in the same run: a restart begins with the "
                     "first again.",
                 .broken_by = "",
                 .strict = false,
                 .topics = about_set,
                 .after = &waits_for_what_it_needs,
                 .at_rest = nullptr,
                 .when_due = nullptr,
                 .of_parts = true},
};

}  // namespace

std::span<const InvariantRow> jobset_invariants() { return jobset_rows; }

}  // namespace ddptwin::scenario
