// The subcommands of ddptwin: each adds its arguments to the app and gives what to do when it was
// chosen. A command's result is the exit status.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "scenario/language/scenario.hpp"

namespace ddptwin {

enum Exit : int { held = 0, failed = 1, bad_input = 2, cannot = 3, interrupted = 130 };

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run{};
};

Command add_run(CLI::App& app);
Command add_env(CLI::App& app);
Command add_list(CLI::App& app);
Command add_agree(CLI::App& app);
Command add_explore(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_exec(CLI::App& app);
Command add_doctor(CLI::App& app);

// What an option's number may be, in words: CLI11 itself takes -1 for 2^64-1 and tells the bounds
// of a double.
CLI::Validator whole_number(std::uint64_t least);

int status_of(const Error& error);
// "90s", "2m", "1h30m".
CLI::Validator a_duration();

// Prints the error and gives the exit status that it means.
int exit_of(const Error& error);

// The scenarios of several files: those with a Scenario document each by itself, and last all
// others as one run. A file that is no good leaves the others as they are, unless they are one run
// with it.
struct ScenarioFiles {
  std::vector<scenario::Scenario> scenarios{};
  std::vector<std::pair<std::string, Error>> bad{};  // the file, or the files that are one run
};
ScenarioFiles read_scenario_files(const std::vector<std::string>& files,
                                  const scenario::StandInShape& shape = {});
// Every file is read and judged before any runs. Files without a Scenario are one run.
// `shape`: of what stands in for what is not here.
Result<std::vector<scenario::Scenario>> read_scenarios(const std::vector<std::string>& files,
                                                       const scenario::StandInShape& shape = {});

// The folder that --python names, or an error; empty stays empty.
Result<std::string> python_folder(const std::string& argument);

}  // namespace ddptwin
