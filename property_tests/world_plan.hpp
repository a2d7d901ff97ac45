// What happens in a world of several jobs, as values: drawn, shown, shrunk, carried out.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <vector>

#include "cluster_run.hpp"

namespace ddptwin::property {

// One thing that somebody does, followed by some seconds of rest.
struct WorldEvent {
  enum class Kind : std::uint8_t {
    create_job,
    remove_job,
    scale,  // the workers, to `number`
    suspend,
    resume,
    touch,         // an annotation of the job changes
    exit,          // a main container ends with `number`
    hang,          // and ignores SIGTERM from now on
    delete_pod,    // with a grace of `number` seconds; below 0: its own
    evict_pod,     // by the eviction API
    lose_sandbox,  // the pod's
    restart_kubelets,
    rest,
  };
  Kind kind = Kind::rest;
  int job = 0;  // of job_names()
  int pod = 0;  // which of those that the job has then
  int number = 0;
  int seconds = 0;
};
void showValue(const WorldEvent& event, std::ostream& out);

// Two in one namespace, of which one's name begins like the other's, and one of the same name in
// another.
const std::vector<JobName>& job_names();

struct WorldPlan {
  controller::pytorchjob::Profile profile{};
  std::uint64_t seed = 0;
  std::vector<JobShape> shapes{};  // of each of job_names()
  std::vector<WorldEvent> events{};
  scenario::FaultPlan faults{};
};
void showValue(const WorldPlan& plan, std::ostream& out);

// Each plan leaves out a random part of the kinds of events and faults and weighs the rest anew: a
// run in which everything fails a little finds less.
rc::Gen<WorldPlan> world_plan();
// Without faults, every event followed by so long a rest that the world is quiet again. What
// upstream itself leaves to chance is left out: limits, and pods taken away under policy Never.
rc::Gen<WorldPlan> quiet_plan();

void apply(ClusterRun& run, const WorldPlan& plan, const WorldEvent& event);

// Jobs that upstream itself never brings to an end, whatever its pods do: for whom an end cannot be
// demanded (spec/pytorchjob.md §8).
bool may_never_end(const WorldPlan& plan, const JobShape& shape);

}  // namespace ddptwin::property
