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
  const auto tell = [&](const std::vector<PodFacts*>& pods) {
    for (const PodFacts* pod : pods)
      if (!pod->terminating())
        return verdicts.violated(job.text(),
                                 fmt::format("{} is to be suspended, and {} is not being deleted",
                                             job.text(), name_of(*pod->last)));
  };
  tell(job.pods);
  for (const JobFacts* one : job.made) tell(one->pods);
  return true;
}

bool suspend_is_reached(const Sight& sight, Verdicts& verdicts) {
  return !sight.job->traits.ttl && judge_suspend(sight, verdicts);
}

}  // namespace ddptwin::scenario::invariants
