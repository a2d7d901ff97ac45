#include "cluster/kubelet/phase.hpp"

#include <gtest/gtest.h>

namespace ddptwin::kubelet::phase_test {
namespace {

// A container's status in a word: "w" waits, "w!" waits after an end, "r" runs, "0" or another
// code: ended with it, "-" no status.
struct Row {
  std::string_view name;
  std::string_view policy;
  std::vector<std::string_view> init;
  std::vector<std::string_view> main;
  bool all_stopped;
  std::string_view phase;
};

void ended(ContainerState& state, std::string_view code) {
  state.terminated.emplace().exitCode = std::stoi(std::string(code));
}

void add(std::vector<Container>& containers, std::vector<ContainerStatus>& statuses,
         std::string_view word) {
  Container& container = containers.emplace_back();
  container.name = "c" + std::to_string(containers.size());
  if (word.starts_with("s:")) {
    container.restartPolicy = "Always";
    word.remove_prefix(2);
  }
  if (word == "-") return;
  ContainerStatus& status = statuses.emplace_back();
  status.name = container.name;
  if (word == "r") {
    status.state.running.emplace();
    status.started = true;
  } else if (word == "w" || word == "w!") {
    status.state.waiting.emplace();
    if (word == "w!") ended(status.lastState.edit(), "1");
  } else {
    ended(status.state, word);
  }
}

class PhaseTable : public testing::TestWithParam<Row> {};

TEST_P(PhaseTable, is_a_function_of_the_containers) {
  const Row& row = GetParam();
  PodSpec spec;
  PodStatus status;
  spec.restartPolicy = row.policy;
  for (const auto word : row.init)
    add(spec.initContainers.edit(), status.initContainerStatuses.edit(), word);
  for (const auto word : row.main)
    add(spec.containers.edit(), status.containerStatuses.edit(), word);
  EXPECT_EQ(pod_phase(spec, status, row.all_stopped), row.phase);
}

INSTANTIATE_TEST_SUITE_P(
    rules, PhaseTable,
    testing::Values(
        Row{"nothing_known", "Always", {}, {"-"}, false, "Pending"},
        Row{"all_wait", "Always", {}, {"w", "w"}, false, "Pending"},
        Row{"one_waits_one_runs", "Never", {}, {"r", "w"}, false, "Pending"},
        Row{"all_run", "Never", {}, {"r", "r"}, false, "Running"},
        Row{"one_ended_one_runs", "Never", {}, {"0", "r"}, false, "Running"},
        Row{"never_all_good", "Never", {}, {"0", "0"}, false, "Succeeded"},
        Row{"never_one_bad", "Never", {}, {"0", "3"}, false, "Failed"},
        Row{"on_failure_bad_restarts", "OnFailure", {}, {"0", "3"}, false, "Running"},
        Row{"on_failure_all_good", "OnFailure", {}, {"0", "0"}, false, "Succeeded"},
        Row{"always_ended_restarts", "Always", {}, {"0"}, false, "Running"},
        Row{"always_back_off", "Always", {}, {"w!"}, false, "Running"},
        Row{"stopped_always_bad", "Always", {}, {"143"}, true, "Failed"},
        Row{"stopped_always_good", "Always", {}, {"0"}, true, "Succeeded"},
        Row{"init_runs", "Never", {"r"}, {"w"}, false, "Pending"},
        Row{"init_done", "Never", {"0"}, {"w"}, false, "Pending"},
        Row{"init_failed_never", "Never", {"5"}, {"w"}, false, "Failed"},
        Row{"init_failed_on_failure", "OnFailure", {"5"}, {"w"}, false, "Pending"},
        Row{"init_failed_always", "Always", {"5"}, {"w"}, false, "Pending"},
        Row{"sidecar_runs", "Never", {"s:r"}, {"r"}, false, "Running"},
        Row{"sidecar_outlives_main", "Never", {"s:r"}, {"0"}, false, "Running"},
        Row{"sidecar_code_does_not_count", "Never", {"s:9"}, {"0"}, false, "Succeeded"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Phase, a_matching_rule_keeps_a_never_pod_running) {
  PodSpec spec;
  PodStatus status;
  spec.restartPolicy = "Never";
  add(spec.containers.edit(), status.containerStatuses.edit(), "42");
  EXPECT_EQ(pod_phase(spec, status, false), "Failed");
  ContainerRestartRule& rule = spec.containers.edit()[0].restartPolicyRules.edit().emplace_back();
  rule.action = "Restart";
  rule.exitCodes = ExitCodesRule{"In", {42}};
  EXPECT_EQ(pod_phase(spec, status, false), "Running");
  EXPECT_EQ(pod_phase(spec, status, true), "Failed");
}

}  // namespace
}  // namespace ddptwin::kubelet::phase_test
