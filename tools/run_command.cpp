// ddptwin run: scenarios and plain manifests, in real or in virtual time.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "commands.hpp"
#include "scenario/preflight.hpp"
#include "scenario/run.hpp"
#include "scenario/virtual_run.hpp"

namespace ddptwin {
namespace {

using scenario::Mode;
using scenario::Scenario;

struct RunArguments {
  std::vector<std::string> files{};
  std::string out{}, junit{}, python{}, mode{}, torch{};
  std::optional<std::uint64_t> seed{};
  bool json = false, quiet = false;
  scenario::StandInShape stand_in_shape{};
  std::string step_time{}, stand_ins = "on";
};

// One scenario in one mode.
struct PlannedRun {
  const Scenario* scenario;
  scenario::RunOptions options{};
};

bool has_mode(const Scenario& one, Mode mode) {
  return std::find(one.modes.begin(), one.modes.end(), mode) != one.modes.end();
}

// What --mode asks of a scenario; without it real time where the scenario has it.
std::vector<Mode> modes_of(const RunArguments& arguments, const Scenario& one) {
  if (arguments.mode == "both") return {Mode::real, Mode::virtual_};
  if (arguments.mode.empty()) return {has_mode(one, Mode::real) ? Mode::real : Mode::virtual_};
  return {arguments.mode == "real" ? Mode::real : Mode::virtual_};
}

Status check_mode(const Scenario& one, Mode mode) {
  if (!has_mode(one, mode))
    return fail(Reason::bad_input,
                fmt::format("this scenario runs in {} time only",
                            to_string(mode == Mode::real ? Mode::virtual_ : Mode::real)),
                one.file);
  return mode == Mode::virtual_ ? scenario::check_modelled(one) : Status();
}

// Each of several scenarios has a folder of its own name under --out.
Status check_folders(const std::vector<Scenario>& scenarios) {
  std::set<std::string> names;
  for (const Scenario& one : scenarios) {
    if (one.name.empty() || one.name.front() == '.' || one.name.find('/') != one.name.npos)
      return fail(Reason::bad_input, "\"" + one.name + "\" is no name of a folder",
                  one.file + " metadata.name");
    if (!names.insert(one.name).second)
      return fail(Reason::bad_input, "two scenarios are named \"" + one.name + "\"",
                  one.file + " metadata.name");
  }
  return {};
}

// Of the terminal behind the descriptor; 0: it is none.
int columns_of(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  winsize size{};
  constexpr int usual = 80;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

Status write_junit(const std::string& path, const std::vector<scenario::RunResult>& results) {
  std::ofstream stream(path);
  scenario::print_junit(stream, results);
  stream.flush();
  if (!stream) return fail(Reason::io, path + ": cannot be written");
  return {};
}

Result<std::vector<PlannedRun>> plan(const RunArguments& arguments,
                                     const std::vector<Scenario>& scenarios) {
  std::vector<PlannedRun> runs;
  for (const Scenario& one : scenarios) {
    for (const Mode mode : modes_of(arguments, one)) {
      TRY_VOID(check_mode(one, mode));
      if (arguments.stand_ins == "off") TRY_VOID(scenario::refuse_stand_ins(one, mode));
      scenario::RunOptions options;
      options.mode = mode;
      options.seed = arguments.seed.value_or(one.seed.value_or(1));
      options.torch = arguments.torch;
      options.python = arguments.python;
      options.out = arguments.out;
      if (!options.out.empty() && scenarios.size() > 1) options.out += "/" + one.name;
      if (!options.out.empty() && arguments.mode == "both")
        options.out += "/" + std::string(to_string(mode));
      options.quiet = arguments.quiet;
      options.columns = columns_of(arguments.json ? STDERR_FILENO : STDOUT_FILENO);
      runs.push_back({&one, std::move(options)});
    }
  }
  return runs;
}

int run_all(const RunArguments& arguments, const std::vector<PlannedRun>& runs) {
  std::ostream& text = arguments.json ? std::cerr : std::cout;
  std::vector<scenario::RunResult> results;
  int status = Exit::held;
  for (const PlannedRun& one : runs) {
    auto result = scenario::run_scenario(*one.scenario, one.options, text);
    if (!result) {
      status = exit_of(result.error());
      break;
    }
    if (arguments.json)
      std::cout << boost::json::serialize(scenario::to_json(*result)) << std::endl;
    results.push_back(std::move(*result));
    if (results.back().interrupted) {
      status = Exit::interrupted;
      break;
    }
    if (!results.back().passed()) status = Exit::failed;
  }
  if (!arguments.junit.empty()) {
    if (const auto written = write_junit(arguments.junit, results); !written)
      return exit_of(written.error());
  }
  return status;
}

int run(RunArguments arguments) {
  auto python = python_folder(arguments.python);
  if (!python) return exit_of(python.error());
  arguments.python = std::move(*python);
  if (!arguments.step_time.empty()) {
    const auto time = parse_go_duration(arguments.step_time);
    if (!time || *time < Duration::zero())
      return exit_of({Reason::bad_input, "--step-time",
                      "must be a duration as 100ms, not " + arguments.step_time});
    arguments.stand_in_shape.step_time = *time;
  }
  const auto scenarios = read_scenarios(arguments.files, arguments.stand_in_shape);
  if (!scenarios) return exit_of(scenarios.error());
  const auto runs = plan(arguments, *scenarios);
  if (!runs) return exit_of(runs.error());
  if (!arguments.out.empty() && scenarios->size() > 1)
    if (const auto fine = check_folders(*scenarios); !fine) return exit_of(fine.error());
  // Before anything runs: a report that cannot be written is bad input.
  if (!arguments.junit.empty())
    if (const auto writable = write_junit(arguments.junit, {}); !writable)
      return exit_of({Reason::bad_input, "--junit", writable.error().message});
  return run_all(arguments, *runs);
}

}  // namespace

Command add_run(CLI::App& app) {
  const auto arguments = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand("run", "Run scenarios or plain Kubernetes manifests");
  command.add_option("FILE", arguments->files, "Scenarios or manifests; - is standard input")
      ->required();
  command.add_option("--out", arguments->out,
                     "Keep the artefacts in this folder: trace.jsonl, logs/, result.json");
  command.add_option("--junit", arguments->junit, "Write the verdicts as JUnit XML to this file");
  command.add_flag("--json", arguments->json,
                   "Print each result as one line of JSON; text for people goes to stderr");
  command
      .add_option("--mode", arguments->mode,
                  "The clock; default: real where the scenario has it. Virtual runs start no "
                  "process, take no time, and are repeated by their seed")
      ->check(CLI::IsMember({"real", "virtual", "both"}));
  command
      .add_option("--seed", arguments->seed,
                  "What chance begins with, in virtual time the order of all events; default: "
                  "the scenario's, else 1")
      ->check(whole_number(0));
  command
      .add_option("--torch", arguments->torch,
                  "The PyTorch of modelled workers; default: the scenario's, else 2.x")
      ->check(CLI::IsMember(std::vector<std::string>(scenario::torch_profile_names().begin(),
                                                     scenario::torch_profile_names().end())));
  command.add_option("--python", arguments->python,
                     "A virtual environment whose python3 every image has");
  command
      .add_option("--stand-ins", arguments->stand_ins,
                  "off: refuse a plain manifest that names what is not on this machine; on, the "
                  "default: a training stands in for it")
      ->check(CLI::IsMember({"on", "off"}));
  command.add_option("--steps", arguments->stand_in_shape.steps, "Of that training; default: 20")
      ->check(whole_number(1));
  command.add_option("--step-time", arguments->step_time,
                     "What each of its steps takes at least; default: 100ms");
  command.add_flag("--quiet", arguments->quiet, "Print the verdicts only");
  command.footer(
      "Examples:\n"
      "  ddptwin run scenarios/pytorchjob/demo.yaml\n"
      "  ddptwin run scenarios/pytorchjob/demo.yaml --mode virtual --seed 7\n"
      "  ddptwin run job.yaml --out /tmp/run\n"
      "  ddptwin run scenarios/pytorchjob/*.yaml --quiet --junit report.xml\n"
      "\n"
      "Exit status: 0 all held; 1 an expectation or invariant failed; 2 bad input;\n"
      "3 this machine cannot; 130 interrupted.");
  return {&command, [arguments] { return run(*arguments); }};
}

}  // namespace ddptwin
