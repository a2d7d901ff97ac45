// One run of one scenario in real time, from its cluster's start to its clean end.
#pragma once

#include <iosfwd>
#include <string>

#include "scenario/report/result.hpp"
#include "scenario/scenario.hpp"

namespace ddptwin::scenario {

struct RunOptions {
  std::uint64_t seed = 1;
  std::string python{};  // a virtual environment for every image; empty: none
  std::string out{};     // the folder for artefacts; empty: none are kept
  bool quiet = false;    // no live view and no timeline
  int columns = 0;       // of the terminal that `text` is; 0: it is none
};

// Text for people goes to `text`. SIGINT and SIGTERM end the run cleanly: the result is then
// `interrupted`. Errors: unsupported_machine, io, bad_input (the folder).
Result<RunResult> run_scenario(const Scenario& scenario, const RunOptions& options,
                               std::ostream& text);

}  // namespace ddptwin::scenario
