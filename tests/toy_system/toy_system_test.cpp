// What docs/guide/add-a-system.md describes, built and run: the page's code is this folder's.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenario/language/cluster_options.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/virtual_run.hpp"
#include "toy_system/row.hpp"
#include "toy_system/squad.hpp"

namespace ddptwin::toy::toy_system_test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<scenario::Scenario> parse(const std::string& spec) {
  const std::string text =
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n"
      "  images: [{name: busybox}]\n" +
      spec +
      "---\napiVersion: toy.example/v1\nkind: Squad\nmetadata: {name: first}\n"
      "spec:\n  replicas: 3\n  template:\n    spec:\n      restartPolicy: Never\n"
      "      containers: [{name: main, image: busybox, command: [sh, -c, sleep 60; echo hello]}]\n";
  const KindRegistry kinds;
  return scenario::parse_scenario("toy.yaml", kinds,
                                  [&](const std::string&) { return Result<std::string>(text); });
}

TEST(ToySystem, the_pages_code_is_what_is_built) {
  const std::string page = content_of(fs::path(DDPTWIN_SOURCE_DIR) / "docs/guide/add-a-system.md");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(DDPTWIN_TEST_DIR)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_test.cpp") || name == "CMakeLists.txt") continue;
    ++files;
    EXPECT_NE(page.find("```cpp\n" + content_of(entry.path()) + "```"), std::string::npos)
        << "the page has not the text of " << name;
  }
  EXPECT_EQ(files, 7);
}

// Its kind is of no table but its own.
TEST(ToySystem, a_world_is_told_of_a_systems_own_kind) {
  const auto squad = parse("  timeout: 1h\n");
  ASSERT_TRUE(squad) << squad.error().text();
  EXPECT_EQ(scenario::kinds_of(*squad), std::vector<const KindInfo*>{&Squad::info()});
}

const scenario::InvariantWatch::Judged* judged_by(
    const std::vector<scenario::InvariantWatch::Judged>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const auto& one) { return one.row->name == name; });
  return found == all.end() ? nullptr : &*found;
}

TEST(ToySystem, a_squad_runs_to_its_end_and_is_judged_by_all_and_by_its_own) {
  const auto squad = parse("  timeout: 1h\n");
  ASSERT_TRUE(squad) << squad.error().text();
  scenario::VirtualRun run(*squad, {.seed = 1});
  ASSERT_TRUE(run.start());
  const auto result = run.finish();
  ASSERT_TRUE(result) << result.error().text();
  for (const auto* some : {&result->expectations, &result->invariants})
    for (const auto& one : *some)
      EXPECT_NE(one.verdict, scenario::Verdict::failed) << one.name << ": " << one.detail;
  EXPECT_TRUE(result->passed());
  const auto judged = run.engine().invariants();
  for (const char* name : {"squad-keeps-its-pods", "succeeded-for-a-reason", "no-duplicates",
                           "no-new-pods", "visible"}) {
    const auto* one = judged_by(judged, name);
    ASSERT_NE(one, nullptr) << name;
    EXPECT_TRUE(one->asked) << name;
    EXPECT_TRUE(one->held) << name;
  }
  EXPECT_FALSE(judged_by(judged, "counters-are-true")->asked) << "that is of another system";
}

// No line of the judge is the controller's: its slip is seen.
TEST(ToySystem, the_pod_that_a_version_forgets_is_missed) {
  const auto squad = parse("  timeout: 1h\n  cluster: {systems: {squad: v0}}\n");
  ASSERT_TRUE(squad) << squad.error().text();
  scenario::VirtualRun run(*squad, {.seed = 1});
  ASSERT_TRUE(run.start());
  const auto result = run.finish();
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->passed());
  const auto judged = run.engine().invariants();
  const auto* count = judged_by(judged, "count");
  ASSERT_TRUE(count->violation != nullptr);
  EXPECT_NE(count->violation->text.find("wants 3 replica and has 0 pods of index 2"),
            std::string::npos)
      << count->violation->text;
}

TEST(ToySystem, its_kind_is_nowhere_where_it_is_switched_off) {
  const auto squad = parse("  cluster: {systems: {squad: off}}\n");
  ASSERT_FALSE(squad);
  EXPECT_NE(squad.error().text().find("Squad"), std::string::npos) << squad.error().text();
  EXPECT_NE(squad.error().text().find("spec.cluster.systems"), std::string::npos)
      << squad.error().text();
  const auto unknown = parse("  cluster: {systems: {squid: v1}}\n");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text().find("toy.yaml:5"), std::string::npos) << unknown.error().text();
  EXPECT_NE(unknown.error().text().find("did you mean squad?"), std::string::npos)
      << unknown.error().text();
}

}  // namespace
}  // namespace ddptwin::toy::toy_system_test
