// ddptwin agree: runs scenarios really and virtually and compares what came of it.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "commands.hpp"
#include "scenario/judge/agreement.hpp"
#include "scenario/run.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin {
namespace {

using scenario::Disagreement;
using scenario::Mode;
using scenario::Scenario;

struct AgreeArguments {
  std::vector<std::string> files{};
  std::string torch = "1.13";
  std::string python{};
  std::uint64_t seed = 1;
  std::uint64_t seeds = 3;
};

const std::pair<std::string, std::string> verdict{"run", "verdict"};  // a fact

constexpr std::uint64_t seeds_max = 1'000'000;

// What is under way when the last expectation is decided comes to its end.
constexpr Duration settle_time = std::chrono::seconds(2);

Result<scenario::RunFacts> facts_of(const Scenario& one, scenario::RunOptions options) {
  scenario::CanonicalTrace canonical;
  options.quiet = true;
  options.settle = settle_time;
  options.watch = [&canonical](const Record& record) { canonical.on_record(record); };
  std::ostringstream text;
  TRY(const auto result, scenario::run_scenario(one, options, text));
  scenario::RunFacts facts = canonical.facts();
  facts[verdict] = result.passed() ? "passed" : "failed";
  if (!result.passed()) std::cerr << text.str();
  return facts;
}

std::string shown(const std::string& fact) { return fact.empty() ? "nothing" : fact; }

// Runs that fail alike agree, but hardly as their author meant it.
std::string_view failed_alike(const scenario::RunFacts& real, const scenario::RunFacts& virtual_) {
  const bool both = real.at(verdict) == "failed" && virtual_.at(verdict) == "failed";
  return both ? ", and both failed" : "";
}

// Whether all differences are explained.
bool print_differences(const std::string& run, const std::vector<Disagreement>& found,
                       std::string_view remark) {
  const bool fine = std::all_of(found.begin(), found.end(),
                                [](const Disagreement& one) { return !one.explanation.empty(); });
  const auto unknown = std::count_if(
      found.begin(), found.end(), [](const Disagreement& one) { return one.explanation.empty(); });
  std::cout << fmt::format("{:<44} {}{}\n", run,
                           found.empty() ? "agrees"
                           : fine        ? fmt::format("{} explained", found.size())
                                  : fmt::format("{} of {} unexplained", unknown, found.size()),
                           remark);
  for (const Disagreement& one : found) {
    std::cout << fmt::format("  {}: {}\n    real     {}\n    virtual  {}\n", one.subject,
                             one.aspect, shown(one.real), shown(one.virtual_));
    if (!one.explanation.empty()) std::cout << fmt::format("    because  {}\n", one.explanation);
  }
  std::cout.flush();
  return fine;
}

Result<bool> agrees(const AgreeArguments& arguments, const Scenario& one) {
  scenario::RunOptions options;
  options.python = arguments.python;
  options.seed = arguments.seed;
  TRY(const scenario::RunFacts real, facts_of(one, options));
  options.mode = Mode::virtual_;
  options.torch = arguments.torch;
  bool fine = true;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    options.seed = arguments.seed + i;
    TRY(const scenario::RunFacts virtually, facts_of(one, options));
    fine = print_differences(fmt::format("{} seed {}", one.name, options.seed),
                             scenario::compare(one.name, real, virtually),
                             failed_alike(real, virtually)) &&
           fine;
  }
  return fine;
}

bool runs_in_both(const Scenario& one) { return one.modes.size() == 2; }

int agree(const AgreeArguments& arguments) {
  const auto python = python_folder(arguments.python);
  if (!python) return exit_of(python.error());
  const auto scenarios = read_scenarios(arguments.files);
  if (!scenarios) return exit_of(scenarios.error());
  for (const Scenario& one : *scenarios)
    if (const auto fine = scenario::check_modelled(one); runs_in_both(one) && !fine)
      return exit_of(fine.error());
  if (std::none_of(scenarios->begin(), scenarios->end(), runs_in_both))
    return exit_of({Reason::bad_input, "", "nothing to compare: no scenario runs in both modes"});
  AgreeArguments with_python = arguments;
  with_python.python = *python;
  int status = Exit::held;
  for (const Scenario& one : *scenarios) {
    if (!runs_in_both(one)) {
      std::cout << fmt::format("{:<44} runs in one mode only\n", one.name);
      continue;
    }
    const auto fine = agrees(with_python, one);
    if (!fine) return exit_of(fine.error());
    if (!*fine) status = Exit::failed;
  }
  return status;
}

}  // namespace

Command add_agree(CLI::App& app) {
  const auto arguments = std::make_shared<AgreeArguments>();
  CLI::App& command = *app.add_subcommand(
      "agree", "Run scenarios really and virtually, and compare what came of it");
  command.add_option("FILE", arguments->files, "Scenarios or manifests")->required();
  command.add_option("--seed", arguments->seed, "Of the first virtual run")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_option("--seeds", arguments->seeds, "How many virtual runs, each with the next seed")
      ->check(CLI::Range(std::uint64_t{1}, seeds_max))
      ->capture_default_str();
  command.add_option("--torch", arguments->torch, "The PyTorch that the real workers have")
      ->check(CLI::IsMember(std::vector<std::string>(scenario::torch_profile_names().begin(),
                                                     scenario::torch_profile_names().end())))
      ->capture_default_str();
  command.add_option("--python", arguments->python,
                     "A virtual environment whose python3 every image has");
  command.footer(
      "Compared are objects, conditions with their reasons, phases, exit codes, restart counts\n"
      "and training steps, in their order but not in their times.\n"
      "\n"
      "Example:\n"
      "  ddptwin agree scenarios/pytorchjob/*.yaml\n"
      "\n"
      "Exit status: 0 all agree, or the difference is explained; 1 they do not; 2 bad input,\n"
      "or nothing to compare; 3 this machine cannot.");
  return {&command, [arguments] { return agree(*arguments); }};
}

}  // namespace ddptwin
