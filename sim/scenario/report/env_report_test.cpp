#include "scenario/report/env_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario::env_report_test {
namespace {

std::string text_of(const std::string& manifest) {
  static const KindRegistry kinds;
  const auto parsed = parse_scenario(
      "s.yaml", kinds, [&](const std::string&) { return Result<std::string>(manifest); });
  EXPECT_TRUE(parsed) << parsed.error().text();
  return environment_text(explain_environment(*parsed, "", false));
}

std::string ddpset(const std::string& containers) {
  return "apiVersion: platform.ddptwin.dev/v1alpha1\nkind: DDPSet\nmetadata: {name: train}\n"
         "spec: {template: {spec: {" +
         containers + "}}}\n";
}

// Who gives a variable is who is asked to change it.
TEST(EnvReport, names_the_platform_for_its_own_variables_and_the_user_for_his) {
  const std::string text =
      text_of(ddpset("initContainers: [{name: i, image: ddptwin-worker, command: ['true'], env: "
                     "[{name: SVC_NAME, value: mine}]}], containers: [{name: c, image: "
                     "ddptwin-worker, env: [{name: POD_NUMS, value: '9'}, {name: POD_NAMESPACE, "
                     "valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]}]"));
  const std::size_t main = text.find(" container c\n");
  ASSERT_NE(main, std::string::npos) << text;
  const std::string init = text.substr(0, main), own = text.substr(main);
  const auto rule_of = [](const std::string& of, const std::string& variable) {
    const std::size_t at = of.find("  " + variable);
    const std::size_t rule = of.find("# ", at);
    return at == of.npos ? "none" : of.substr(rule + 2, of.find('\n', rule) - rule - 2);
  };
  EXPECT_EQ(rule_of(own, "POD_NAME=train-0"), "ddpset: the pod's own name");
  EXPECT_EQ(rule_of(own, "SVC_NAME=train-svc"), "ddpset: the headless Service");
  EXPECT_EQ(rule_of(own, "POD_PORT=29500"), "ddpset: spec.port");
  EXPECT_THAT(rule_of(own, "POD_NUMS=9"), testing::StartsWith("container env"));
  EXPECT_THAT(rule_of(own, "POD_NAMESPACE=default"), testing::StartsWith("fieldRef"));
  EXPECT_EQ(rule_of(init, "POD_NUMS=1"), "ddpset: spec.replicas when the template was rendered");
  EXPECT_EQ(rule_of(init, "POD_NAMESPACE=default"), "ddpset: the pod's namespace");
  EXPECT_THAT(rule_of(init, "SVC_NAME=mine"), testing::StartsWith("container env"));
}

TEST(EnvReport, a_job_gives_its_init_containers_nothing) {
  const std::string text = text_of(
      "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n"
      "  pytorchReplicaSpecs:\n    Master: {replicas: 1, template: {spec: {initContainers: [{name: "
      "i, image: ddptwin-worker, command: ['true'], env: [{name: RANK, value: '7'}]}], containers: "
      "[{name: pytorch, image: ddptwin-worker}]}}}\n");
  const std::size_t main = text.find(" container pytorch\n");
  ASSERT_NE(main, std::string::npos) << text;
  EXPECT_EQ(text.substr(0, main).find("pytorchjob:"), std::string::npos) << text;
  EXPECT_NE(text.substr(main).find("pytorchjob:"), std::string::npos) << text;
}

TEST(EnvReport, what_is_no_number_is_not_said_to_be_missing) {
  const auto note = [](const std::string& variables) {
    return text_of(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p-0}\nspec: {containers: [{name: "
        "c, image: ddptwin-worker, env: [{name: POD_NAME, value: p-0}, {name: SVC_NAME, "
        "value: s}" +
        variables + "]}]}\n");
  };
  EXPECT_THAT(note(""),
              testing::AllOf(testing::HasSubstr("POD_NUMS is not set: WORLD_SIZE will be empty"),
                             testing::HasSubstr("POD_PORT is not set: MASTER_PORT will be empty")));
  EXPECT_THAT(note(", {name: POD_NUMS, value: abc}, {name: POD_PORT, value: ''}"),
              testing::AllOf(testing::HasSubstr("POD_NUMS=abc is no number: WORLD_SIZE will be"),
                             testing::HasSubstr("POD_PORT= is no number: MASTER_PORT will be"),
                             testing::Not(testing::HasSubstr("is not set"))));
}

}  // namespace
}  // namespace ddptwin::scenario::env_report_test
