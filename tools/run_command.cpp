// ddptwin run: scenarios and plain manifests, in real or in virtual time.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "commands.hpp"
#include "run_batch.hpp"
#include "scenario/run.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin {
namespace {

using scenario::Mode;
using scenario::Scenario;

struct RunArguments {
  std::vector<std::string> files{};
  std::string out{}, junit{}, python{}, mode{}, torch{}, timeout{};
  std::optional<std::uint64_t> seed{};
  unsigned jobs = 1;
  bool json = false, quiet = false, history = false, show_secrets = false;
  scenario::StandInShape stand_in_shape{};
  std::string step_time{}, stand_ins = "on";
};

bool has_mode(const Scenario& one, Mode mode) {
  return std::find(one.modes.begin(), one.modes.end(), mode) != one.modes.end();
}

// What --mode asks of a scenario; without it the first of its modes.
std::vector<Mode> modes_of(const RunArguments& arguments, const Scenario& one) {
  if (arguments.mode == "both") return {Mode::real, Mode::virtual_};
  if (arguments.mode.empty()) return {one.modes.front()};
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

// Below --out: of each of several scenarios, of each of two modes.
std::string run_folder(const RunArguments& arguments, const std::string& name, Mode mode) {
  std::string folder = name;
  if (arguments.mode == "both")
    folder += std::string(name.empty() ? "" : "/") + std::string(to_string(mode));
  return folder;
}

// The last thing before the runs: what earlier ones left is removed.
Status open_out(const RunArguments& arguments, std::vector<PlannedRun>& runs) {
  if (arguments.out.empty()) return {};
  std::vector<std::string> folders;
  for (const PlannedRun& one : runs) folders.push_back(one.options.artefacts.run);
  TRY(const auto folder, scenario::OutFolder::open(arguments.out, folders));
  for (PlannedRun& one : runs) one.options.artefacts.folder = folder;
  return {};
}

PlannedRun planned_run(const RunArguments& arguments, const Scenario& one, Mode mode, bool alone) {
  PlannedRun run;
  run.scenario = &one;
  scenario::RunOptions& options = run.options;
  options.mode = mode;
  options.seed = arguments.seed.value_or(one.seed.value_or(1));
  options.torch = arguments.torch;
  options.python = arguments.python;
  options.timeout = arguments.timeout;
  options.artefacts.run = run_folder(arguments, alone ? "" : one.name, mode);
  options.artefacts.history = arguments.history;
  options.artefacts.show_secrets = arguments.show_secrets;
  options.quiet = arguments.quiet;
  options.columns = columns_of(arguments.json ? STDERR_FILENO : STDOUT_FILENO);
  if (arguments.mode != "both") return run;
  run.suite = mode == Mode::real ? one.name + " [real]"
                                 : fmt::format("{} [virtual seed {}]", one.name, options.seed);
  return run;
}

// What can be run of the scenarios; the others join those that cannot.
std::vector<PlannedRun> plan(const RunArguments& arguments, const std::vector<Scenario>& scenarios,
                             std::vector<NotRun>& not_run) {
  std::vector<PlannedRun> runs;
  const bool alone = arguments.files.size() == 1 || scenarios.size() + not_run.size() == 1;
  for (const Scenario& one : scenarios) {
    const auto modes = modes_of(arguments, one);
    Status fine;
    for (const Mode mode : modes) {
      if (fine) fine = check_mode(one, mode);
      if (fine && arguments.stand_ins == "off") fine = scenario::refuse_stand_ins(one, mode);
    }
    if (!fine) {
      not_run.push_back({one.name, fine.error()});
      continue;
    }
    for (const Mode mode : modes) runs.push_back(planned_run(arguments, one, mode, alone));
  }
  return runs;
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
  ScenarioFiles read = read_scenario_files(arguments.files, arguments.stand_in_shape);
  if (const auto timeout = parse_go_duration(arguments.timeout))
    for (Scenario& one : read.scenarios) one.timeout = *timeout;
  std::vector<NotRun> not_run;
  for (auto& [name, error] : read.bad) not_run.push_back({name, std::move(error)});
  auto runs = plan(arguments, read.scenarios, not_run);
  int status = Exit::held;
  for (const NotRun& one : not_run) status = exit_of(one.error);
  if (runs.empty()) return status;
  if (!arguments.out.empty() && read.scenarios.size() > 1)
    if (const auto fine = check_folders(read.scenarios); !fine) return exit_of(fine.error());
  // Before anything runs: a report that cannot be written is bad input.
  if (!arguments.junit.empty())
    if (const auto writable = write_whole_file(arguments.junit, ""); !writable)
      return exit_of({Reason::bad_input, "--junit", writable.error().message});
  if (const auto opened = open_out(arguments, runs); !opened) return exit_of(opened.error());
  return run_batch({arguments.jobs, arguments.json, arguments.junit}, runs, not_run,
                   arguments.json ? std::cerr : std::cout);
}

}  // namespace

Command add_run(CLI::App& app) {
  const auto arguments = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand("run", "Run scenarios or plain Kubernetes manifests");
  command.add_option("FILE", arguments->files, "Scenarios or manifests; - is standard input")
      ->required();
  CLI::Option* const out =
      command.add_option("--out", arguments->out,
                         "Keep the artefacts in this folder: trace.jsonl, logs/, objects/, "
                         "result.json. What an earlier run left there is removed");
  command
      .add_flag("--history", arguments->history,
                "Keep every version of each object too, in history/ below --out")
      ->needs(out);
  command.add_flag("--show-secrets", arguments->show_secrets,
                   "Keep the values of Secrets as they are; else they are masked");
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
      .add_option("--timeout", arguments->timeout,
                  "How long a run may take; default: the scenario's, else 2m")
      ->check(a_duration());
  command
      .add_option("--jobs", arguments->jobs,
                  "So many runs at once, each told as a whole when it has ended; default: 1")
      ->check(whole_number(1));
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
      "Without expectations of its own a run demands that every job succeeds, and every pod that\n"
      "nobody owns. The last line tells how each ended.\n"
      "\n"
      "Exit status: 0 all held; 1 an expectation or invariant failed; 2 bad input, or there was\n"
      "no job and no pod to run; 3 this machine cannot, or a file or the output cannot be\n"
      "written; 130 interrupted (SIGINT, SIGTERM, SIGHUP). Of several runs the highest.");
  return {&command, [arguments] { return run(*arguments); }};
}

}  // namespace ddptwin
