#include "scenario/absent_kinds.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objects/kinds.hpp"
#include "scenario/scenario_parser.hpp"

namespace ddptwin::scenario::absent_kinds_test {
namespace {

std::string refusal_of(const std::string& api_version, const std::string& kind) {
  const KindRegistry kinds;
  const std::string text = "apiVersion: " + api_version + "\nkind: " + kind +
                           "\nmetadata: {name: x}\nspec: {more: [than, the, twin, knows]}\n";
  const auto scenario = parse_scenario(
      "s.yaml", kinds, [&](const std::string&) { return Result<std::string>(text); });
  return scenario ? std::string() : scenario.error().text();
}

TEST(AbsentKinds, each_is_told_apart_from_a_kind_that_nobody_has) {
  const KindRegistry kinds;
  for (const AbsentKind& one : absent_kinds()) {
    EXPECT_EQ(kinds.find(one.api_version, one.kind), nullptr) << one.kind;
    EXPECT_EQ(refusal_of(std::string(one.api_version), std::string(one.kind)),
              fmt::format("s.yaml:2:1 kind: the twin has no kind {} of {}, which real clusters "
                          "have: {}",
                          one.kind, one.api_version, one.instead));
    EXPECT_FALSE(one.instead.empty()) << one.kind;
  }
  EXPECT_EQ(refusal_of("v1", "Deployment"),
            "s.yaml:2:1 kind: no matches for kind \"Deployment\" in version \"v1\"");
}

}  // namespace
}  // namespace ddptwin::scenario::absent_kinds_test
