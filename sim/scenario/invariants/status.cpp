// Invariants about what a job's status says.
#include <fmt/format.h>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
bool has_settled(const Sight& sight) {
  const JobFacts& job = *sight.job;
  return job.live() && !job.blocked() && !sight.facts.panicked();
}

bool monotone(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const Object &was = *sight.record->before, &is = *sight.record->after;
  if (is.metadata.generation < was.metadata.generation)
    verdicts.violated(name_of(is),
                      fmt::format("the generation of {} went from {} to {}", name_of(is),
                                  was.metadata.generation, is.metadata.generation));
  if (sight.pod == nullptr || sight.pod->restarts == 0) return true;
  const auto& before = static_cast<const Pod&>(was).status.containerStatuses;
  const auto& now = static_cast<const Pod&>(is).status.containerStatuses;
  for (const ContainerStatus& old : before)
    for (const ContainerStatus& one : now)
      if (one.name == old.name && one.restartCount < old.restartCount)
        verdicts.violated(name_of(is),
                          fmt::format("the restart count of {}/{} went from {} to {}", name_of(is),
                                      one.name, old.restartCount, one.restartCount));
  return true;
}

bool times(const Sight& sight, Verdicts& verdicts) {
  const Workload& job = sight.job->traits;
  if (!job.started || !job.completed) return false;
  if (*job.started > *job.completed)
    verdicts.violated(sight.job->text(),
                      fmt::format("{} was completed at {} and started at {}", sight.job->text(),
                                  format_rfc3339(*job.completed), format_rfc3339(*job.started)));
  return true;
}

bool completion_time(const Sight& sight, Verdicts& verdicts) {
  if (!sight.job->traits.completed) return false;
  if (sight.job->finished()) return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("{} has a completionTime and has not finished", sight.job->text()));
  return true;
}

bool start_time(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const Workload &before = sight.job->before, &now = sight.job->traits;
  if (!before.started || before.says_suspended || now.says_suspended) return false;
  if (now.started == before.started) return true;
  verdicts.violated(sight.job->text(),
                    fmt::format("the startTime of {} changed from {} without a "
                                "resume",
                                sight.job->text(), format_rfc3339(*before.started)));
  return true;
}

bool spec_untouched(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight) || sight.record->actor != sight.job->reader->actor) return false;
  if (deletion_asked(*sight.record, sight.record->actor)) return false;  // a time to live is over
  const ObjectMeta &was = sight.record->before->metadata, &is = sight.record->after->metadata;
  // A custom resource counts the versions of its spec in its generation.
  const bool same =
      was.generation == is.generation &&
      (was.labels.same_as(is.labels) || *was.labels == *is.labels) &&
      (was.annotations.same_as(is.annotations) || *was.annotations == *is.annotations);
  if (!same)
    verdicts.violated(
        sight.job->text(),
        fmt::format("the operator changed more of {} than its status", sight.job->text()));
  return true;
}

}  // namespace ddptwin::scenario::invariants
