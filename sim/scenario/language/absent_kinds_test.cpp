#include "scenario/language/absent_kinds.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objects/kinds.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/preflight.hpp"

namespace ddptwin::scenario::absent_kinds_test {
namespace {

Result<Scenario> parsed(const std::string& api_version, const std::string& kind,
                        const std::string& spec) {
  const KindRegistry kinds;
  const std::string text = "apiVersion: " + api_version + "\nkind: " + kind +
                           "\nmetadata: {name: x}\nspec: " + spec + "\n";
  return parse_scenario("s.yaml", kinds,
                        [&](const std::string&) { return Result<std::string>(text); });
}

std::string refusal(const std::string& api_version, const std::string& kind,
                    const std::string& spec = "{more: [than, the, twin, knows]}") {
  const auto scenario = parsed(api_version, kind, spec);
  if (!scenario) return scenario.error().text();
  const Status checked = preflight(*scenario);
  return checked ? std::string() : checked.error().text();
}

TEST(AbsentKinds, a_document_of_one_is_set_aside_with_what_holds_without_it) {
  const KindRegistry kinds;
  for (const AbsentKind& one : absent_kinds()) {
    EXPECT_EQ(kinds.find(one.api_version, one.kind), nullptr) << one.kind;
    EXPECT_FALSE(one.instead.empty()) << one.kind;
    const auto scenario = parsed(std::string(one.api_version), std::string(one.kind), "{}");
    ASSERT_TRUE(scenario) << scenario.error().text();
    ASSERT_EQ(scenario->notes.size(), 1U) << one.kind;
    EXPECT_EQ(scenario->notes[0].text,
              fmt::format("s.yaml:1:1: set aside, the twin has no {}: {}", one.kind, one.instead));
  }
}

// A run of it alone would be green with nothing in it.
TEST(AbsentKinds, what_has_pods_is_refused_where_nothing_else_has) {
  for (const AbsentKind& one : absent_kinds())
    EXPECT_EQ(refusal(std::string(one.api_version), std::string(one.kind)),
              fmt::format("s.yaml:2:1 kind: {}{}",
                          one.runs ? "" : "there is nothing to run, every document is set aside: ",
                          refusal_of(one)));
}

struct Foreign {
  const char* name;
  const char* api_version;
  const char* kind;
  const char* spec;
  bool runs;
};
class AbsentKindOfOthers : public testing::TestWithParam<Foreign> {};
TEST_P(AbsentKindOfOthers, runs_where_there_is_a_container_an_image_or_a_job) {
  const KindRegistry kinds;
  const auto document = parse_yaml(std::string("spec: ") + GetParam().spec, "f.yaml");
  ASSERT_TRUE(document);
  const auto absent =
      absent_kind(kinds, GetParam().api_version, GetParam().kind, document->front().value);
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->runs, GetParam().runs);
}
INSTANTIATE_TEST_SUITE_P(
    Table, AbsentKindOfOthers,
    testing::Values(
        Foreign{"ServiceMonitor", "monitoring.coreos.com/v1", "ServiceMonitor", "{}", false},
        Foreign{"VirtualService", "networking.istio.io/v1", "VirtualService", "{}", false},
        Foreign{"LocalQueue", "kueue.x-k8s.io/v1beta1", "LocalQueue", "{clusterQueue: c}", false},
        Foreign{"RayCluster", "ray.io/v1", "RayCluster",
                "{headGroupSpec: {template: {spec: {containers: [{name: h}]}}}}", true},
        Foreign{"SparkJob", "example.com/v1", "SparkJob", "{main: x.py}", true},
        Foreign{"Workflow", "argoproj.io/v1alpha1", "Workflow",
                "{templates: [{container: {command: [sh]}}]}", true},
        Foreign{"InferenceService", "serving.kserve.io/v1beta1", "InferenceService",
                "{predictor: {model: {image: x}}}", true}),
    [](const auto& row) { return std::string(row.param.name); });

// Each would be taken for somebody's custom resource otherwise, and nothing would run.
TEST(AbsentKinds, a_slip_is_no_kind_of_others) {
  EXPECT_EQ(refusal("v1", "Deployment"),
            "s.yaml:2:1 kind: no matches for kind \"Deployment\" in version \"v1\"");
  EXPECT_EQ(refusal("kubeflow.org/v1", "PyTorchJobs"),
            "s.yaml:2:1 kind: no matches for kind \"PyTorchJobs\" in version \"kubeflow.org/v1\": "
            "did you mean PyTorchJob?");
  EXPECT_EQ(refusal("kubflow.org/v1", "PyTorchJob"),
            "s.yaml:2:1 kind: no matches for kind \"PyTorchJob\" in version \"kubflow.org/v1\": a "
            "PyTorchJob is of kubeflow.org/v1");
  EXPECT_EQ(refusal("networking.k8s.io/v1", "Ingres"),
            "s.yaml:2:1 kind: no matches for kind \"Ingres\" in version \"networking.k8s.io/v1\"");
}

}  // namespace
}  // namespace ddptwin::scenario::absent_kinds_test
