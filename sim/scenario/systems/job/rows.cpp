// What the Job controller promises of its Jobs (spec/trainjob.md §6.3, §6.7, §11.10).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "objects/index_set.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/systems/job/parts.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;

constexpr std::string_view tracking = "batch.kubernetes.io/job-tracking";

const BatchJobStatus& status_of_job(const Object& object) { return as<Job>(object)->status; }

const BatchJobCondition* told_of(const BatchJobStatus& status, std::string_view type) {
  for (const BatchJobCondition& one : status.conditions)
    if (one.type_ == type) return &one;
  return nullptr;
}

bool is_held(const Object& object) {
  const auto& finalizers = object.metadata.finalizers;
  return std::find(finalizers.begin(), finalizers.end(), tracking) != finalizers.end();
}

// The decision stands in a write before the end, with the same reason.
bool decides_first(const Sight& sight, Verdicts& verdicts) {
  const bool failed = now_failed(sight);
  if (!failed && !now_succeeded(sight)) return false;
  const std::string_view end = failed ? "Failed" : "Complete",
                         decision = failed ? "FailureTarget" : "SuccessCriteriaMet";
  const BatchJobCondition* now = told_of(status_of_job(*sight.record->after), end);
  const BatchJobCondition* before =
      is_change(sight) ? told_of(status_of_job(*sight.record->before), decision) : nullptr;
  if (before == nullptr || before->status != "True")
    verdicts.violated(sight.job->text(), fmt::format("{} is {} without having said {} before",
                                                     sight.job->text(), end, decision));
  else if (now != nullptr && now->reason != before->reason)
    verdicts.violated(sight.job->text(),
                      fmt::format("{} is {} for {}, and had said {} for {}", sight.job->text(), end,
                                  now->reason, decision, before->reason));
  return true;
}

bool ends_after_its_pods(const Sight& sight, Verdicts& verdicts) {
  if (!now_failed(sight) && !now_succeeded(sight)) return false;
  for (const PodFacts* pod : sight.job->pods) {
    if (is_terminal_phase(pod->last->status.phase)) continue;
    // A pod that nobody counts: somebody took the Job's mark from it, or gave it to the Job just
    // now.
    if (!is_held(*pod->last)) continue;
    verdicts.violated(sight.job->text(), fmt::format("{} has ended, and {} has not",
                                                     sight.job->text(), name_of(*pod->last)));
    return true;
  }
  return true;
}

bool numbers_grow(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const BatchJobStatus &was = status_of_job(*sight.record->before),
                       &is = status_of_job(*sight.record->after);
  const JobSpec& spec = *as<Job>(*sight.record->after)->spec;
  const std::string job = sight.job->text();
  if (is.failed < was.failed)
    verdicts.violated(
        job, fmt::format("status.failed of {} went from {} to {}", job, was.failed, is.failed));
  const bool indexed = spec.completionMode == "Indexed";
  if (!indexed && is.succeeded < was.succeeded)
    verdicts.violated(job, fmt::format("status.succeeded of {} went from {} to {}", job,
                                       was.succeeded, is.succeeded));
  const TypeFacts& all = sight.job->type(0);
  if (indexed && is.succeeded < was.succeeded && all.wanted_min == all.wanted_max)
    verdicts.violated(job, fmt::format("status.succeeded of {} went from {} to {}, and it was not "
                                       "scaled",
                                       job, was.succeeded, is.succeeded));
  if (indexed && is.succeeded > spec.completions.value_or(0) && is.succeeded > was.succeeded)
    verdicts.violated(job, fmt::format("{} of {} indexes of {} have succeeded", is.succeeded,
                                       spec.completions.value_or(0), job));
  return true;
}

bool resumes_after_suspension(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  const BatchJobCondition* now = told_of(status_of_job(*sight.record->after), "Suspended");
  if (now == nullptr || now->status != "False") return false;
  const bool was =
      is_change(sight) && told_of(status_of_job(*sight.record->before), "Suspended") != nullptr;
  if (!was)
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} says that it was resumed, and never said Suspended", sight.job->text()));
  return true;
}

bool indexes_are_apart(const Sight& sight, Verdicts& verdicts) {
  if (sight.record->after == nullptr) return false;
  const BatchJobStatus& status = status_of_job(*sight.record->after);
  if (!status.failedIndexes || status.failedIndexes->empty() || status.completedIndexes.empty())
    return false;
  const int most = as<Job>(*sight.record->after)->spec->completions.value_or(0);
  const IndexSet done = IndexSet::read(status.completedIndexes, most),
                 failed = IndexSet::read(*status.failedIndexes, most);
  for (int i = 0; i < most; ++i)
    if (done.has(i) && failed.has(i)) {
      verdicts.violated(sight.job->text(), fmt::format("index {} of {} has succeeded and failed", i,
                                                       sight.job->text()));
      break;
    }
  return true;
}

bool is_settled(const Sight& sight) { return has_settled(sight) && !sight.facts.disturbed(); }

bool lets_its_pods_go(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!is_settled(sight)) return false;
  const BatchJobStatus& status = status_of_job(*job.last);
  if (const auto& uncounted = status.uncountedTerminatedPods;
      uncounted && uncounted->succeeded.size() + uncounted->failed.size() > 0)
    verdicts.violated(job.text(),
                      fmt::format("{} has pods that ended and are not counted", job.text()));
  // One that waits for its replacement is kept for what its annotations say.
  if (as<Job>(*job.last)->spec->backoffLimitPerIndex && !job.finished()) return true;
  for (const PodFacts* pod : job.pods) {
    if (!is_terminal_phase(pod->last->status.phase) || !is_held(*pod->last)) continue;
    verdicts.violated(job.text(), fmt::format("{} has ended, and {} still holds it",
                                              name_of(*pod->last), job.text()));
    return true;
  }
  return true;
}

bool counts_its_pods(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!is_settled(sight)) return false;
  std::int32_t active = 0, leaving = 0;
  for (const PodFacts* pod : job.pods) {
    if (is_terminal_phase(pod->last->status.phase)) continue;
    ++(pod->terminating() ? leaving : active);
  }
  const BatchJobStatus& status = status_of_job(*job.last);
  if (status.active != active || status.terminating.value_or(0) != leaving)
    verdicts.violated(
        job.text(),
        fmt::format("{} says {} active and {} terminating pods, and has {} and {}", job.text(),
                    status.active, status.terminating.value_or(0), active, leaving));
  return true;
}

constexpr std::uint32_t after_jobs = topics(Topic::job), after_nothing = 0;

constexpr std::array job_promises{
    InvariantRow{"job-decides-first", "I14",
                 "A Job says FailureTarget or SuccessCriteriaMet before it is Failed or Complete.",
                 "In an earlier write and for the same reason: who looks on may act on the "
                 "decision, and a controller that crashes between the two comes to the same end.",
                 "", false, after_jobs, &decides_first, nullptr, nullptr},
    InvariantRow{"job-ends-last", "§6.3", "A Job ends after its pods.",
                 "When Failed or Complete is stored no pod that it counts is still running or "
                 "terminating.",
                 "", false, after_jobs, &ends_after_its_pods, nullptr, nullptr},
    InvariantRow{"job-numbers-grow", "I14", "A Job's failed and succeeded never decrease.",
                 "But for succeeded of an Indexed Job that is scaled down. No more indexes succeed "
                 "than there are.",
                 "", false, after_jobs, &numbers_grow, nullptr, nullptr},
    InvariantRow{"job-resumes-after-suspension", "I16",
                 "A Job says Suspended False only after Suspended True.",
                 "What was never suspended has no such condition.", "", false, after_jobs,
                 &resumes_after_suspension, nullptr, nullptr},
    InvariantRow{"job-indexes-apart", "§10.3",
                 "No index of a Job is among those that succeeded and those that failed.",
                 "completedIndexes and failedIndexes have none in common.", "", false, after_jobs,
                 &indexes_are_apart, nullptr, nullptr},
    InvariantRow{"job-lets-its-pods-go", "I15",
                 "At rest every pod of a Job that has ended is counted and let go.",
                 "None holds the finalizer batch.kubernetes.io/job-tracking, and none stands in "
                 "uncountedTerminatedPods, whatever crashed meanwhile.",
                 "", false, after_nothing, nullptr, &lets_its_pods_go, nullptr},
    InvariantRow{"job-counts-its-pods", "§6.3",
                 "At rest a Job's active and terminating are the numbers of its pods.",
                 "Of those that have not ended.", "", false, after_nothing, nullptr,
                 &counts_its_pods, nullptr},
};

}  // namespace

std::span<const InvariantRow> job_invariants() { return job_promises; }

}  // namespace ddptwin::scenario
