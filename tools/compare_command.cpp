// ddptwin compare: one failure on several systems, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "commands.hpp"
#include "core/trace.hpp"
#include "objects/core_v1.hpp"
#include "scenario/run.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/result.hpp"

namespace ddptwin {
namespace {

using scenario::Mode;
using scenario::RunResult;
using scenario::Scenario;

struct CompareArguments {
  std::vector<std::string> files{};
  std::string torch{};
  std::uint64_t seed = 1;
  bool real = false;
  bool explain = false;
};

// FAILURE/SYSTEM.yaml, and what came of it.
struct Row {
  std::string failure{}, system{};
  std::string end{};
  std::int64_t pods = 0, restarts = 0;
  Duration lasted{};
  bool passed = false;
  std::string incident{};
};

// "pytorchjob/train Failed, of a backoffLimit ...: pod/..." without what its pods say.
std::string end_of(const RunResult& result) {
  if (result.ends.empty()) return "nothing ran";
  const std::string& end = result.ends.front();
  return end.substr(0, end.find(": "));
}

// How many pods there were and how often containers began again in them, with the moments: a run
// goes on a little after its last expectation is decided.
class Tally {
 public:
  void on_record(const Record& record) {
    if (record.after == nullptr) return;
    const Pod* pod = as<Pod>(*record.after);
    if (pod == nullptr) return;
    if (record.kind == RecordKind::object_added) pods_.push_back(record.time);
    std::int64_t& known = restarts_of_[pod->metadata.uid.str()];
    std::int64_t now = 0;
    for (const ContainerStatus& status : pod->status.containerStatuses) now += status.restartCount;
    for (; known < now; ++known) restarts_.push_back(record.time);
  }
  std::int64_t pods(Time until) const { return count(pods_, until); }
  std::int64_t restarts(Time until) const { return count(restarts_, until); }

 private:
  static std::int64_t count(const std::vector<Time>& moments, Time until) {
    return std::count_if(moments.begin(), moments.end(),
                         [until](Time one) { return one <= until; });
  }

  std::vector<Time> pods_{}, restarts_{};
  std::map<std::string, std::int64_t> restarts_of_{};  // by the pod's uid
};

Row row_of(const Scenario& one, const RunResult& result, const Tally& tally) {
  const std::filesystem::path file(one.file);
  return {.failure = file.parent_path().filename().string(),
          .system = file.stem().string(),
          .end = end_of(result),
          .pods = tally.pods(result.ended_at),
          .restarts = tally.restarts(result.ended_at),
          .lasted = result.ended_at - result.started_at,
          .passed = result.passed(),
          .incident = one.incident};
}

// "2.4 s", "34 min": what differs by less differs by nothing.
std::string shown(Duration lasted) {
  constexpr Duration long_one = std::chrono::minutes(2);
  if (lasted < long_one)
    return fmt::format("{:.1f} s", std::chrono::duration<double>(lasted).count());
  return fmt::format("{} min", lasted / Duration(std::chrono::minutes(1)));
}

void print(const std::vector<Row>& rows, bool explain) {
  std::size_t failure = 7, system = 6, end = 19;  // of the head below
  for (const Row& row : rows) {
    failure = std::max(failure, row.failure.size());
    system = std::max(system, row.system.size());
    end = std::max(end, row.end.size());
  }
  std::cout << fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>9}  {:>8}  {:>8}\n", "failure", failure,
                           "system", system, "what came of it", end, "pods made", "restarts",
                           "after");
  std::string last;
  for (const Row& row : rows) {
    if (row.failure != last && !last.empty()) std::cout << "\n";
    std::cout << fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>9}  {:>8}  {:>8}{}\n",
                             row.failure == last ? "" : row.failure, failure, row.system, system,
                             row.end, end, row.pods, row.restarts, shown(row.lasted),
                             row.passed ? "" : "  FAILED");
    last = row.failure;
    if (explain) std::cout << fmt::format("    {}\n", row.incident);
  }
}

int compare(const CompareArguments& arguments) {
  const auto scenarios = read_scenarios(arguments.files);
  if (!scenarios) return exit_of(scenarios.error());
  scenario::RunOptions options;
  options.mode = arguments.real ? Mode::real : Mode::virtual_;
  options.seed = arguments.seed;
  options.torch = arguments.torch;
  options.quiet = true;
  const auto runs_so = [&options](const Scenario& one) {
    return std::find(one.modes.begin(), one.modes.end(), options.mode) != one.modes.end();
  };
  if (!arguments.real)
    for (const Scenario& one : *scenarios)
      if (const auto fine = scenario::check_modelled(one); runs_so(one) && !fine)
        return exit_of(fine.error());
  std::vector<Row> rows;
  int status = Exit::held;
  for (const Scenario& one : *scenarios) {
    if (!runs_so(one)) continue;
    std::ostringstream text;
    Tally tally;
    options.watch = [&tally](const Record& record) { tally.on_record(record); };
    const auto result = scenario::run_scenario(one, options, text);
    if (!result) return exit_of(result.error());
    if (result->interrupted) return Exit::interrupted;
    if (!result->passed()) {
      std::cerr << text.str();
      status = Exit::failed;
    }
    rows.push_back(row_of(one, *result, tally));
  }
  if (rows.empty())
    return exit_of({Reason::bad_input, "",
                    fmt::format("nothing to compare: no scenario runs in {} time",
                                arguments.real ? "real" : "virtual")});
  print(rows, arguments.explain);
  return status;
}

}  // namespace

Command add_compare(CLI::App& app) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App& command =
      *app.add_subcommand("compare", "Show what one failure leads to on several systems");
  command.add_option("FILE", arguments->files, "Scenarios: FAILURE/SYSTEM.yaml")->required();
  command.add_flag("--real", arguments->real, "With real processes; otherwise in virtual time");
  command.add_option("--seed", arguments->seed, "Of virtual runs")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_option("--torch", arguments->torch, "The PyTorch of the modelled workers")
      ->check(CLI::IsMember(std::vector<std::string>(scenario::torch_profile_names().begin(),
                                                     scenario::torch_profile_names().end())));
  command.add_flag("--explain", arguments->explain, "Each file's own words about it, too");
  command.footer(
      "One line a file: how the job ended, how many pods were made and containers restarted in\n"
      "their pods, and how long all of it took. A file that does not run in that mode is left "
      "out.\n"
      "\n"
      "Example:\n"
      "  ddptwin compare scenarios/compare/*/*.yaml\n"
      "\n"
      "Exit status: 0 all held, 1 an expectation did not, 2 bad input, 3 this machine cannot.");
  return {&command, [arguments] { return compare(*arguments); }};
}

}  // namespace ddptwin
