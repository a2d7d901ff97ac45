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
#include "scenario/scenario.hpp"

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

// What an option's number may be, in words: CLI11 itself takes -1 for 2^64-1 and tells the bounds
// of a double.
CLI::Validator whole_number(std::uint64_t least);

// Prints the error and gives the exit status that it means.
int exit_of(const Error& error);

// Every file is read and judged before any runs. Files without a Scenario are one run.
// `shape`: of what stands in for what is not here.
Result<std::vector<scenario::Scenario>> read_scenarios(const std::vector<std::string>& files,
                                                       const scenario::StandInShape& shape = {});

// The folder that --python names, or an error; empty stays empty.
Result<std::string> python_folder(const std::string& argument);

}  // namespace ddptwin
