// Many runs of one scenario, each with other faults: random plans, or every single fault at every
// point. On as many threads as wanted, each with worlds of its own; what is found does not depend
// on their number, unless it is ended early.
#pragma once

#include <functional>
#include <vector>

#include "scenario/explore/generate.hpp"
#include "scenario/explore/subject.hpp"
#include "scenario/explore/trial.hpp"

namespace ddptwin::scenario {

struct ExploreOptions {
  std::uint64_t runs = 1000;
  std::vector<const FaultRow*> kinds{};
  unsigned jobs = 1;
  std::uint64_t seed = 1;
  bool exhaustive = false;        // every point once, instead of random runs
  bool strict = false;            // invariants that upstream's own bugs break are watched too
  bool own_expectations = false;  // the scenario's own are required in every run
  std::string torch{};
  std::size_t faults_max = 6;
  std::size_t shrink_max = 2000;  // runs for the shrinking of one finding
};

// A way to fail, the smallest plan that does it, and the first run that did.
struct Finding {
  Failure failure{};  // of the shrunk plan
  FaultPlan plan{};
  std::uint64_t world_seed = 0;
  std::uint64_t run = 0;          // counts from 1; 0: the undisturbed run
  std::size_t faults_before = 0;  // of that run
  std::uint64_t runs_failed = 0;  // this way
  std::size_t tries = 0;          // of shrinking
  bool minimal = false;
};

struct Explored {
  std::uint64_t runs = 0;       // that were done
  std::uint64_t runs_left = 0;  // that were not, because on_progress wanted no more
  std::uint64_t points = 0;     // of an exhaustive search
  std::uint64_t disturbed = 0;  // runs in which a fault acted
  std::uint64_t cut_short = 0;  // runs in which a step could not be taken
  std::uint64_t records = 0;
  Duration simulated{};
  Coverage coverage{};
  std::vector<Finding> findings{};  // in the order of their first runs
  Subject::Demand demand{};
  Census census{};         // of the run without faults
  Duration undisturbed{};  // until the end of scenario and jobs without faults
};

struct Progress {
  std::uint64_t done = 0;
  std::uint64_t all = 0;
  std::uint64_t failed = 0;
  const Coverage* coverage = nullptr;  // of the runs that are done, whichever they are
};
using OnProgress = std::function<bool(const Progress&)>;  // whether to go on

// `on_progress` is called from the calling thread only, after each of its own runs; when it wants
// no more, the runs under way are the last. Errors: those of the scenario.
Result<Explored> explore(const Subject& subject, const ExploreOptions& options,
                         const OnProgress& on_progress);

// The plan and the world's seed of one run, from 1 on: they depend on nothing but the arguments.
struct Drawn {
  FaultPlan plan{};
  std::uint64_t world_seed = 0;
};
Drawn draw_run(const ExploreOptions& options, std::uint64_t run, const Census& census,
               Duration undisturbed, Duration heal);

}  // namespace ddptwin::scenario
