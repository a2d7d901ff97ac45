// ddptwin agree: runs scenarios really and virtually and compares what came of it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "commands.hpp"
#include "scenario/judge/agreement.hpp"
#include "scenario/judge/told_lines.hpp"
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
  std::string torch = "1.13+py3.11";
  std::string python{};
  std::uint64_t seed = 1;
  std::uint64_t seeds = 3;
  double factor = scenario::TimeBound{}.factor;
  double slack = seconds_of(scenario::TimeBound{}.slack);
};

const std::pair<std::string, std::string> verdict{"run", "verdict"};  // a fact

constexpr std::uint64_t seeds_max = 1'000'000;
constexpr double factor_max = 1000, slack_max = 1e6;

// What is under way when the last expectation is decided comes to its end.
constexpr Duration settle_time = std::chrono::seconds(2);

// Nothing: it was interrupted, so that there is nothing to compare.
using Facts = std::optional<scenario::RunFacts>;

Result<Facts> facts_of(const Scenario& one, scenario::RunOptions options) {
  scenario::CanonicalTrace canonical(scenario::join_lines(one));
  options.quiet = true;
  options.settle = settle_time;
  options.watch = [&canonical](const Record& record) { canonical.on_record(record); };
  std::ostringstream text;
  TRY(const auto result, scenario::run_scenario(one, options, text));
  if (result.interrupted) return Facts();
  scenario::RunFacts facts = canonical.facts();
  facts[verdict] = result.passed() ? "passed" : "failed";
  if (!result.passed()) std::cerr << text.str();
  return Facts(std::move(facts));
}

std::string shown(const std::string& fact) { return fact.empty() ? "nothing" : fact; }

// Runs that fail alike agree, but hardly as their author meant it.
std::string_view failed_alike(const scenario::RunFacts& real, const scenario::RunFacts& virtual_) {
  const bool both = real.at(verdict) == "failed" && virtual_.at(verdict) == "failed";
  return both ? ", and both failed" : "";
}

struct Compared {
  std::uint64_t seed = 0;
  std::vector<Disagreement> found{};
  std::string_view remark{};
  std::size_t unknown() const {
    return static_cast<std::size_t>(
        std::count_if(found.begin(), found.end(),
                      [](const Disagreement& one) { return one.explanation.empty(); }));
  }
};

void print_compared(const std::string& name, const Compared& one) {
  const std::size_t unknown = one.unknown();
  std::cout << fmt::format("{:<44} {}{}\n", fmt::format("{} seed {}", name, one.seed),
                           one.found.empty() ? "agrees"
                           : unknown == 0
                               ? fmt::format("{} explained", one.found.size())
                               : fmt::format("{} of {} unexplained", unknown, one.found.size()),
                           one.remark);
  for (const Disagreement& each : one.found) {
    std::cout << fmt::format("  {}: {}\n    real     {}\n    virtual  {}\n", each.subject,
                             each.aspect, shown(each.real), shown(each.virtual_));
    if (!each.explanation.empty()) std::cout << fmt::format("    because  {}\n", each.explanation);
  }
  std::cout.flush();
}

// A race that is real comes out in one way in one real run, and in virtual time as the seed has it.
// Whether one seed at least gives what the real run gave.
bool print_seeds(const std::string& name, const std::vector<Compared>& all) {
  const auto is_real = [](const Compared& one) { return one.unknown() == 0; };
  const auto alike = std::count_if(all.begin(), all.end(), is_real);
  for (const Compared& one : all) print_compared(name, one);
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  if (alike == 0 || alike == count) return alike > 0;
  const auto first = std::find_if(all.begin(), all.end(), is_real);
  std::cout << fmt::format("{:<44} seed {} gives the real outcome, as {} of {} do\n", name,
                           first->seed, alike, count);
  std::cout.flush();
  return true;
}

// Exit::held, failed or interrupted.
Result<int> agreement_of(const AgreeArguments& arguments, const Scenario& one) {
  scenario::RunOptions options;
  options.python = arguments.python;
  options.seed = arguments.seed;
  TRY(const Facts real, facts_of(one, options));
  if (!real) return Exit::interrupted;
  options.mode = Mode::virtual_;
  options.torch = arguments.torch;
  // Real pods have this machine's, whatever their node is said to have.
  options.cpus = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const scenario::TimeBound bound{
      arguments.factor,
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(arguments.slack))};
  std::vector<Compared> all;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    options.seed = arguments.seed + i;
    TRY(const Facts virtually, facts_of(one, options));
    if (!virtually) return Exit::interrupted;
    all.push_back({options.seed, scenario::compare(one.name, *real, *virtually, bound),
                   failed_alike(*real, *virtually)});
  }
  return print_seeds(one.name, all) ? Exit::held : Exit::failed;
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
    const auto came = agreement_of(with_python, one);
    if (!came) return exit_of(came.error());
    if (*came == Exit::interrupted) {
      std::cout << fmt::format("{:<44} interrupted: nothing is compared\n", one.name);
      return Exit::interrupted;
    }
    if (*came == Exit::failed) status = Exit::failed;
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
  command
      .add_option("--time-factor", arguments->factor,
                  "How many times longer than the other one of two times may be")
      ->check(CLI::Range(1.0, factor_max))
      ->capture_default_str();
  command
      .add_option("--time-slack", arguments->slack, "And how many seconds it may be beside that")
      ->check(CLI::Range(0.0, slack_max))
      ->capture_default_str();
  command.footer(
      "Compared are objects, conditions with their reasons, phases, exit codes, restart counts,\n"
      "training steps, who has joined, and of each container's last exception its type and place,\n"
      "in their order; and within that bound how long each container ran and each job took. Where\n"
      "the virtual runs differ, one seed has to give what the real run gave.\n"
      "\n"
      "Example:\n"
      "  ddptwin agree scenarios/pytorchjob/*.yaml\n"
      "\n"
      "Exit status: 0 all agree, or the difference is explained; 1 they do not; 2 bad input,\n"
      "or nothing to compare; 3 this machine cannot; 130 interrupted.");
  return {&command, [arguments] { return agree(*arguments); }};
}

}  // namespace ddptwin
