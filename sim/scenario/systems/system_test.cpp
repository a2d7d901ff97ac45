#include "scenario/systems/system.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::system_test {
namespace {

bool runs(const std::vector<InstalledSystem>& installed, std::string_view controller) {
  VirtualLoop loop(Random(1), virtual_start);
  WorldOptions options;
  options.systems = installed;
  for (const InstalledSystem& one : installed)
    for (const KindOf kind : one.system->kinds) options.kinds.push_back(&kind());
  const World world(loop, std::move(options), nullptr);
  const std::vector<std::string> all = world.controllers();
  return std::find(all.begin(), all.end(), controller) != all.end();
}

TEST(System, each_row_finds_its_own_versions) {
  for (const System* system : systems()) {
    for (const std::string_view version : system->versions())
      EXPECT_EQ(system->find_version(version), version) << system->name;
    EXPECT_EQ(system->find_version(system->default_version()), system->default_version());
    EXPECT_EQ(system->find_version("none such"), "") << system->name;
  }
}

TEST(System, who_is_there_on_request_is_switched_on_in_its_place) {
  std::vector<InstalledSystem> installed = default_systems();
  EXPECT_FALSE(is_among(installed, scheduler_plugins_system));
  switch_on(installed, volcano_system);
  switch_on(installed, scheduler_plugins_system);
  switch_on(installed, scheduler_plugins_system);
  std::vector<const System*> found;
  for (const InstalledSystem& one : installed) found.push_back(one.system);
  EXPECT_THAT(found, testing::ElementsAreArray(systems()));
}

TEST(System, its_controllers_are_where_it_is_installed_and_nowhere_else) {
  for (const System* system : systems())
    for (const SystemController& controller : system->controllers)
      for (const std::string_view version : system->versions()) {
        EXPECT_TRUE(runs({{system, version}}, controller.name)) << controller.name;
        EXPECT_FALSE(runs({}, controller.name)) << controller.name;
      }
}

TEST(System, one_whose_kinds_nobody_tells_of_is_not_installed) {
  VirtualLoop loop(Random(1), virtual_start);
  const World world(loop, WorldOptions(), nullptr);
  for (const System* system : systems())
    for (const KindOf kind : system->kinds)
      EXPECT_EQ(world.kinds().find(kind().api_version(), kind().kind), nullptr) << kind().kind;
}

TEST(System, a_version_is_set_where_the_system_is_installed) {
  std::vector<InstalledSystem> installed = default_systems();
  EXPECT_EQ(version_of(installed, training_operator), "v1.9.0");
  set_version(installed, training_operator, "v1.7.0");
  EXPECT_EQ(version_of(installed, training_operator), "v1.7.0");
  EXPECT_EQ(version_of({}, training_operator), "");
}

// spec/trainjob.md §0.1: each Trainer with the JobSet of its manifests.
TEST(System, a_release_brings_what_it_is_released_with) {
  const auto jobset_with = [](const std::string& asked) {
    const KindRegistry kinds;
    const std::string text =
        "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec: {steps: [{wait: 1s}], cluster: "
        "{systems: " +
        asked + "}}\n";
    const auto parsed = scenario::parse_scenario(
        "s.yaml", kinds, [&](const std::string&) { return Result<std::string>(text); });
    EXPECT_TRUE(parsed) << parsed.error().text();
    return std::string(version_of(parsed->systems, jobset_system));
  };
  EXPECT_EQ(jobset_with("{trainer: v2.0}"), "v0.8.2");
  EXPECT_EQ(jobset_with("{trainer: v2.1}"), "v0.10.1");
  EXPECT_EQ(jobset_with("{trainer: v2.2}"), "v0.11.1");
  EXPECT_EQ(jobset_with("{trainer: v2.1, jobset: v0.12.0}"), "v0.12.0");
  EXPECT_EQ(jobset_with("{trainer: v2.1, jobset: off}"), "");
  EXPECT_EQ(jobset_with("{trainer: off}"), jobset_system.default_version());
}

TEST(System, its_readers_are_its_own) {
  for (const System* system : systems())
    for (const scenario::WorkloadReader* reader : system->readers)
      EXPECT_EQ(reader->system, system->name);
}

TEST(System, its_kinds_are_where_it_is_installed_and_nowhere_else) {
  for (const System* system : systems())
    for (const KindInfo* kind : kinds_of(*system)) {
      EXPECT_EQ(system_of_kind(kind->kind, kind->api_version()), system);
      const auto served = [kind](std::vector<InstalledSystem> installed) {
        VirtualLoop loop(Random(1), virtual_start);
        WorldOptions options;
        // Some are there only where a scenario has such an object.
        if (!installed.empty()) options.kinds.push_back(kind);
        options.systems = std::move(installed);
        const World world(loop, std::move(options), nullptr);
        return world.kinds().find(kind->api_version(), kind->kind) != nullptr;
      };
      EXPECT_TRUE(served({{system, system->default_version()}})) << kind->kind;
      EXPECT_FALSE(served({})) << kind->kind;
    }
}

}  // namespace
}  // namespace ddptwin::system_test
