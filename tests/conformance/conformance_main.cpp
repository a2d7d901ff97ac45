// ddptwin-conformance [--quiet] [SYSTEM]: tells which rows of a conformance table hold. Exit status
// 1 when one that has to hold does not, 2 for a system that is not known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "controller/training_operator/rules.hpp"
#include "conversation.hpp"
#include "pytorchjob_functions.hpp"

namespace ddptwin::conformance {
namespace {

// What a run of one table found.
struct Report {
  std::map<std::string, std::vector<Verdict>> rows{};  // by id
  std::vector<std::string> failures{};                 // beyond the rows
};

std::string row_id(int number) { return fmt::format("C{:02}", number); }

void add(Report& report, std::vector<Verdict> verdicts) {
  for (Verdict& verdict : verdicts) {
    const std::string id = verdict.id;
    report.rows[id].push_back(std::move(verdict));
  }
}

Report run_pytorchjob(bool rewrite) {
  constexpr int row_count = 137;
  Report report;
  for (int i = 1; i <= row_count; ++i) report.rows[row_id(i)];
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(DDPTWIN_SOURCE_DIR) +
                                                               "/tests/conformance/pytorchjob"))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::set<std::string_view> taken;
  for (const std::string& file : files) {
    FileResult result = run_conversations(file, rewrite);
    taken.insert(result.rules.begin(), result.rules.end());
    add(report, std::move(result.verdicts));
  }
  add(report, pytorchjob_functions());
  for (const controller::Rule* rule : controller::pytorchjob::rules::all())
    if (!taken.contains(rule->name))
      report.failures.push_back(
          fmt::format("rule {} ({}) is never taken", rule->name, rule->source));
  return report;
}

// The first that does not hold, or null.
const Verdict* broken(const std::vector<Verdict>& verdicts) {
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [](const Verdict& verdict) { return !verdict.holds; });
  return found != verdicts.end() ? &*found : nullptr;
}

// What one case of the table, or beyond it, came to.
bool print_row(const std::string& id, const std::vector<Verdict>& verdicts, bool quiet) {
  const Verdict* bad = broken(verdicts);
  if (bad != nullptr)
    fmt::print("{} does not hold ({}): {}\n", id, bad->profile, bad->why);
  else if (verdicts.empty())
    fmt::print("{} does not hold: no case says it\n", id);
  else if (!quiet)
    fmt::print("{} holds\n", id);
  return bad == nullptr && !verdicts.empty();
}

int print(std::string_view system, const Report& report, bool quiet) {
  int rows = 0, held = 0, beyond = 0, beyond_held = 0;
  for (const auto& [id, verdicts] : report.rows) {
    const bool holds = print_row(id, verdicts, quiet);
    const bool in_table = id.starts_with('C');
    ++(in_table ? rows : beyond);
    if (holds) ++(in_table ? held : beyond_held);
  }
  for (const std::string& failure : report.failures) fmt::print("{}\n", failure);
  fmt::print("{}: {} of {} rows hold, and {} of {} cases beyond the table\n", system, held, rows,
             beyond_held, beyond);
  return held == rows && beyond_held == beyond && report.failures.empty() ? 0 : 1;
}

struct System {
  std::string_view name;
  Report (*run)(bool rewrite);
};
constexpr std::array systems{System{"pytorchjob", &run_pytorchjob}};

int run(const std::vector<std::string_view>& args) {
  const bool rewrite = std::getenv("GOLDEN_REWRITE") != nullptr;
  const bool quiet = std::find(args.begin(), args.end(), "--quiet") != args.end();
  int status = 0;
  bool known = true;
  for (const std::string_view arg : args)
    if (!arg.starts_with('-'))
      known = std::any_of(systems.begin(), systems.end(),
                          [&](const System& system) { return system.name == arg; });
  if (!known) {
    fmt::print(stderr, "usage: conformance [--quiet] [SYSTEM]; systems: pytorchjob\n");
    return 2;
  }
  const bool all = std::none_of(args.begin(), args.end(),
                                [](std::string_view arg) { return !arg.starts_with('-'); });
  for (const System& system : systems)
    if (all || std::find(args.begin(), args.end(), system.name) != args.end())
      status = std::max(status, print(system.name, system.run(rewrite), quiet));
  return status;
}

}  // namespace
}  // namespace ddptwin::conformance

int main(int argc, char** argv) { return ddptwin::conformance::run({argv + 1, argv + argc}); }
