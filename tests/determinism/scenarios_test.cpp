// Every scenario of the library that runs in virtual time holds there: under every seed and with
// either PyTorch, where it names none.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "scenario/language/files.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::test::scenarios_test {
namespace {

namespace fs = std::filesystem;
using scenario::Scenario;

const fs::path folder = fs::path(DDPTWIN_SOURCE_DIR) / "scenarios";
constexpr std::uint64_t seeds = DDPTWIN_SCENARIO_SEEDS;

// Relative to the folder, in the order of the alphabet. A manifest that a scenario names is none.
std::vector<std::string> files() {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto text = scenario::read_text_file(entry.path().string());
    if (text && text->find("kind: Scenario") != text->npos)
      found.push_back(fs::relative(entry.path(), folder).generic_string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void expect_to_hold(const Scenario& one, std::uint64_t seed, std::string_view torch) {
  const auto result = run_virtually(one, {.seed = seed, .torch = std::string(torch)});
  ASSERT_TRUE(result) << result.error().text();
  std::ostringstream verdicts;
  scenario::print_verdicts(verdicts, *result);
  ASSERT_TRUE(result->passed()) << verdicts.str();
}

class VirtualScenario : public testing::TestWithParam<std::string> {};
TEST_P(VirtualScenario, holds_under_every_seed) {
  const KindRegistry kinds;
  const auto one =
      scenario::parse_scenario((folder / GetParam()).string(), kinds, &scenario::read_text_file);
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_NE(std::count(one->modes.begin(), one->modes.end(), scenario::Mode::virtual_), 0)
      << "every scenario of the library runs in virtual time";
  const auto modelled = scenario::check_modelled(*one);
  ASSERT_TRUE(modelled) << modelled.error().text();
  // A scenario that names a seed tells what happens under that one.
  const std::uint64_t first = one->seed.value_or(1);
  const std::uint64_t last = one->seed ? first : seeds;
  for (const std::string_view torch : scenario::measured_torch_names()) {
    if (!one->torch.empty() && one->torch != torch) continue;
    for (std::uint64_t seed = first; seed <= last && !HasFatalFailure(); ++seed)
      expect_to_hold(*one, seed, torch);
  }
}
INSTANTIATE_TEST_SUITE_P(Library, VirtualScenario, testing::ValuesIn(files()), [](const auto& row) {
  std::string name = row.param.substr(0, row.param.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
});

// Both modes are the promise of the PyTorchJob scenarios.
TEST(VirtualScenarioTest, scenarios_of_pytorchjob_run_in_both_modes) {
  const KindRegistry kinds;
  for (const std::string& file : files()) {
    if (!file.starts_with("pytorchjob/")) continue;
    const auto one =
        scenario::parse_scenario((folder / file).string(), kinds, &scenario::read_text_file);
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(one->modes.size(), 2U) << file;
  }
}

// Invariants that no scenario of the library gives anything to judge, in the order of the table: a
// judge that nothing ever asks holds in every run, and says nothing. Stories (*_test.cpp beside the
// judges) and random runs ask them.
const std::vector<std::string>& never_asked() {
  static const std::vector<std::string> names{
      // The training operator's own.
      "frozen",                      // nobody touches a job that has Failed
      "world-agrees-after-scaling",  // none is scaled
      "type-removed",                // or loses a replica type
      "disruptions",                 // the evicted pods' jobs succeed
      "suspend-with-ttl", "ttl-after-all",
      "quiesce-at-zero",        // none has a replica type of zero
      "visible-without-types",  // every job has a replica type
      // Other systems' own.
      "trainjob-complete-stays",  // nobody touches a TrainJob that is Complete
      "t9k-paused",               // no pod comes while a job is paused: each that does is judged
      "t9k-gang",                 // no job of T9k's scheduler rests before its end
  };
  return names;
}

TEST(VirtualScenarioTest, each_invariant_has_something_to_judge_in_some_scenario) {
  const KindRegistry kinds;
  std::set<std::string_view> asked;
  for (const std::string& file : files()) {
    auto one = scenario::parse_scenario((folder / file).string(), kinds, &scenario::read_text_file);
    ASSERT_TRUE(one) << one.error().text();
    for (const auto& row : scenario::invariant_rows())
      if (row.strict) one->invariants.also.emplace(row.name);
    scenario::VirtualRun run(*one, {.seed = one->seed.value_or(1)});
    ASSERT_TRUE(run.start());
    ASSERT_TRUE(run.finish());
    for (const auto& judged : run.engine().invariants())
      if (judged.asked) asked.insert(judged.row->name);
  }
  std::vector<std::string> never;
  for (const auto& row : scenario::invariant_rows())
    if (!asked.contains(row.name)) never.emplace_back(row.name);
  EXPECT_EQ(never, never_asked());
}

}  // namespace
}  // namespace ddptwin::test::scenarios_test
