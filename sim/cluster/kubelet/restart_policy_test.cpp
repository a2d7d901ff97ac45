#include "cluster/kubelet/restart_policy.hpp"

#include <gtest/gtest.h>

namespace ddptwin::kubelet::restart_policy_test {
namespace {

struct Row {
  std::string_view name;
  std::string_view pod_policy;
  std::optional<std::string> own_policy;
  std::vector<ContainerRestartRule> rules;
  bool init;
  std::int32_t code;
  RestartDecision decision;
};

ContainerRestartRule rule(std::string action, std::string operator_,
                          std::vector<std::int32_t> values) {
  return ContainerRestartRule{std::move(action),
                              ExitCodesRule{std::move(operator_), std::move(values)}};
}

class AfterExit : public testing::TestWithParam<Row> {};

TEST_P(AfterExit, follows_rules_then_own_policy_then_the_pods) {
  const Row& row = GetParam();
  PodSpec spec;
  spec.restartPolicy = row.pod_policy;
  Container container;
  container.name = "c";
  container.restartPolicy = row.own_policy;
  container.restartPolicyRules = row.rules;
  (row.init ? spec.initContainers : spec.containers).edit().push_back(container);
  EXPECT_EQ(after_exit(spec, container, row.code), row.decision);
}

constexpr auto stay = RestartDecision::stay;
constexpr auto restart = RestartDecision::restart;

INSTANTIATE_TEST_SUITE_P(
    rows, AfterExit,
    testing::Values(
        Row{"always_zero", "Always", {}, {}, false, 0, restart},
        Row{"on_failure_zero", "OnFailure", {}, {}, false, 0, stay},
        Row{"on_failure_one", "OnFailure", {}, {}, false, 1, restart},
        Row{"never_one", "Never", {}, {}, false, 1, stay},
        Row{"init_under_always_zero", "Always", {}, {}, true, 0, stay},
        Row{"init_under_always_one", "Always", {}, {}, true, 1, restart},
        Row{"init_under_never_one", "Never", {}, {}, true, 1, stay},
        Row{"sidecar_zero", "Never", "Always", {}, true, 0, restart},
        Row{"own_never", "Always", "Never", {}, false, 1, stay},
        Row{"in_matches", "Never", "Never", {rule("Restart", "In", {42})}, false, 42, restart},
        Row{"in_does_not_match", "Never", "Never", {rule("Restart", "In", {42})}, false, 1, stay},
        Row{"not_in", "Never", "Never", {rule("Restart", "NotIn", {0, 1})}, false, 2, restart},
        Row{"restart_all",
            "Never",
            "Never",
            {rule("RestartAllContainers", "In", {88})},
            false,
            88,
            RestartDecision::restart_all},
        Row{"first_rule_wins",
            "Never",
            {},
            {rule("Restart", "In", {7}), rule("RestartAllContainers", "In", {7})},
            false,
            7,
            restart}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(WantsStart, nothing_is_started_in_a_pod_that_is_being_deleted) {
  Pod pod;
  Container& container = pod.spec.edit().containers.edit().emplace_back();
  container.name = "c";
  pod.spec.edit().restartPolicy = "Always";
  const PodRuntimeState nothing;
  EXPECT_TRUE(wants_start(pod, pod.spec->containers[0], nothing));
  pod.metadata.deletionTimestamp = Time{};
  EXPECT_FALSE(wants_start(pod, pod.spec->containers[0], nothing));
}

}  // namespace
}  // namespace ddptwin::kubelet::restart_policy_test
