// Several runs, one after another or several at once, and what came of all of them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenario/run.hpp"

namespace ddptwin {

// One scenario in one mode.
struct PlannedRun {
  const scenario::Scenario* scenario = nullptr;
  scenario::RunOptions options{};
  std::string suite{};  // what JUnit calls it; empty: the scenario's name
};

// A file that cannot be run.
struct NotRun {
  std::string name{};
  Error error{};
};

struct BatchOptions {
  unsigned jobs = 1;    // so many at once, each in a process of its own
  bool json = false;    // each result as a line on stdout
  std::string junit{};  // the file; empty: none
};

// Text for people goes to `text`: of several runs at once each one's as a whole, when it has ended.
// Gives the exit status: of all that came of them the worst.
int run_batch(const BatchOptions& options, const std::vector<PlannedRun>& runs,
              const std::vector<NotRun>& not_run, std::ostream& text);

// Writes the whole file, or says why it cannot: "PATH: cannot be written: No space left on device".
Status write_whole_file(const std::string& path, const std::string& content);

}  // namespace ddptwin
