// One run of one scenario, in real or virtual time, from its cluster's start to its clean end, told
// to people.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "core/trace.hpp"
#include "scenario/language/scenario.hpp"
#include "scenario/report/artefacts.hpp"

namespace ddptwin::scenario {

struct RunOptions {
  Mode mode = Mode::real;
  std::uint64_t seed = 1;
  std::string torch{};  // virtual: the profile of the modelled workers; empty: the scenario's
  // virtual: what os.cpu_count() says in every pod, as real pods share this machine's; absent: what
  // the pod's node has
  std::optional<int> cpus{};
  std::string python{};   // a virtual environment for every image; empty: none
  std::string timeout{};  // that the command line gave, to be repeated; the scenario has it already
  ArtefactOptions artefacts{};
  bool quiet = false;   // no live view and no timeline
  int columns = 0;      // of the terminal that `text` is; 0: it is none
  Duration settle{};    // how long the cluster goes on at least once all is decided
  Trace::Sink watch{};  // hears of every record since the scenario's time began, to the end of that
};

// Text for people goes to `text`. What EndSignals hears of ends a run cleanly: the result is then
// `interrupted`. Errors: unsupported_machine, io, bad_input (the folder), internal_error (a
// run in virtual time that is stuck).
Result<RunResult> run_scenario(const Scenario& scenario, const RunOptions& options,
                               std::ostream& text);

}  // namespace ddptwin::scenario
