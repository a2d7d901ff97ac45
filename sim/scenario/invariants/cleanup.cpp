// Invariants about what is left of suspended jobs.
#include <fmt/format.h>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {

bool judge_suspend(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || !job.suspended() || sight.facts.panicked()) return false;
  if (!job.traits.says_suspended)
    verdicts.violated(job.text(),
                      fmt::format("{} is to be suspended, and never says Suspended", job.text()));
  return true;
}

bool suspended(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || !job.suspended() || sight.facts.panicked()) return false;
  for (const PodFacts* pod : job.pods) {
    if (pod->terminating()) continue;
    verdicts.violated(job.text(), fmt::format("{} is to be suspended, and {} is not being deleted",
                                              job.text(), name_of(*pod->last)));
    return true;
  }
  return true;
}

bool suspend_is_reached(const Sight& sight, Verdicts& verdicts) {
  return !sight.job->traits.ttl && judge_suspend(sight, verdicts);
}

}  // namespace ddptwin::scenario::invariants
