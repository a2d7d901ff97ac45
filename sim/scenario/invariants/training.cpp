// Invariants about the training in the pods, as the workers' lines tell it.
#include <fmt/format.h>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

using Kind = WorkerLine::Kind;

// A process prints and the node reads: lines of two pods may come in the wrong order that long.
constexpr Duration reading = std::chrono::seconds(1);

}  // namespace

bool rendezvous(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr) return false;
  const GroupFacts& group = sight.job->group;
  const std::string_view who = sight.record->subject;
  if (sight.line->kind == Kind::joined && sight.line->rank >= sight.line->world)
    verdicts.violated(sight.job->text(), fmt::format("{} joined as rank {} of {}", who,
                                                     sight.line->rank, sight.line->world));
  if (sight.line->kind != Kind::step) return sight.line->kind == Kind::joined;
  if (sight.rank->generation == 0) return false;
  // One that is new to the job (it was scaled) takes no rank from a group that trains.
  if (sight.rank->generation == group.generation || !group.takes_over ||
      sight.now <= group.formed_at + reading)
    return true;
  verdicts.violated(
      sight.job->text(),
      fmt::format("{} ended step {} as rank {}, and others have formed a new group of "
                  "{} since it joined",
                  who, sight.line->step, sight.line->rank, group.world));
  return true;
}

bool lockstep(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.line->kind != Kind::step) return false;
  const GroupFacts& group = sight.job->group;
  if (sight.rank->generation != group.generation || group.generation == 0) return false;
  if (sight.rank->begun != group.begun)
    verdicts.violated(sight.job->text(),
                      fmt::format("rank {} began with step {}, and the group with step {}",
                                  sight.line->rank, sight.rank->begun, group.begun));
  if (group.lag_step >= 0 && sight.now > group.lag_since + reading)
    verdicts.violated(
        sight.job->text(),
        fmt::format("rank {} ended step {}, and not all of {} ranks have ended step {}",
                    sight.line->rank, sight.line->step, group.world, group.lag_step));
  return true;
}

bool checkpoint(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.line->kind != Kind::step) return false;
  if (sight.rank->begun != sight.line->step || sight.rank->generation == 0) return false;
  const std::int64_t resumed = sight.line->step - 1;
  if (resumed < sight.rank->checkpoint)
    verdicts.violated(
        sight.job->text(),
        fmt::format("rank {} began again after step {}, and the checkpoint of step {} "
                    "was complete",
                    sight.line->rank, resumed, sight.rank->checkpoint));
  // Ranks that begin with the first one's step are never ahead of it.
  if (resumed > sight.step_before)
    verdicts.violated(sight.job->text(),
                      fmt::format("rank {} began after step {}, and nobody has ended more than {}",
                                  sight.line->rank, resumed, sight.step_before));
  return true;
}

bool parameters(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.line->kind != Kind::finished) return false;
  const JobFacts& job = *sight.job;
  if (job.parameters_world != job.group.world || job.parameters_steps != sight.line->steps)
    return false;
  if (sight.line->parameters != job.parameters)
    verdicts.violated(job.text(),
                      fmt::format("rank {} finished with parameters {}, and another rank with {}",
                                  sight.line->rank, sight.line->parameters, job.parameters));
  return true;
}

}  // namespace ddptwin::scenario::invariants
