// The ids are those of spec/trainjob.md §11.8.
#include "controller/manager/job/policies.hpp"

#include <gtest/gtest.h>

namespace ddptwin::controller::job::policies_test {
namespace {

constexpr Time noon(12h);

std::vector<Time> times(std::initializer_list<Duration> offsets) {
  std::vector<Time> all;
  for (const Duration offset : offsets) all.push_back(noon + offset);
  return all;
}

TEST(BackOffRecord, counts_failures_since_the_last_success) {
  const struct {
    const char* id;
    BackOffRecord before;
    std::vector<Time> succeeded, failed;
    int failures;
  } rows[] = {
      {"C200", {}, {}, times({0s}), 1},
      {"C200b", {}, {}, times({-1s, 0s}), 2},
      {"C201", {}, times({0s}), times({-2s, -1s}), 0},
      {"C202", {}, times({-2ms}), times({-4ms, -3ms, -1ms, 0ms}), 2},
      {"C203", {2, noon - 1min}, {}, times({0s}), 3},
      {"C204", {}, times({0s}), times({0s}), 0},
      {"nothing new", {2, noon - 1min}, {}, {}, 2},
  };
  for (const auto& row : rows) {
    const BackOffRecord after = row.before.after(row.succeeded, row.failed);
    EXPECT_EQ(after.failures, row.failures) << row.id;
    if (row.failures > 0 && !row.failed.empty()) {
      EXPECT_EQ(after.last_failure, noon) << row.id;
    }
  }
}

TEST(BackOffRecord, doubles_from_ten_seconds_to_ten_minutes) {  // C207
  const Duration expected[] = {0s, 10s, 20s, 40s, 80s, 160s, 320s, 600s, 600s};
  for (int failures = 0; failures < 9; ++failures)
    EXPECT_EQ(back_off_left(failures, noon, noon), expected[failures]) << failures;
  EXPECT_EQ(back_off_left(1, noon, noon + 4s), 6s);
  EXPECT_EQ(back_off_left(1, noon, noon + 11s), 0s);
  EXPECT_EQ((BackOffRecord{.failures = 0, .last_failure = noon}.remaining(noon)), 0s);
}

Pod failed_pod(std::initializer_list<int> codes) {
  Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = "mypod";
  pod.status.phase = "Failed";
  int number = 0;
  for (const int code : codes) {
    ContainerStatus status;
    status.name = number++ == 0 ? "main-container" : "c" + std::to_string(number);
    status.state.terminated.emplace().exitCode = code;
    pod.status.containerStatuses.edit().push_back(status);
  }
  return pod;
}

PodFailurePolicyRule rule(const char* action, const char* op, std::vector<std::int32_t> values) {
  PodFailurePolicyRule made;
  made.action = action;
  made.onExitCodes = OnExitCodes{{}, op, std::move(values)};
  return made;
}

JobSpec with_rules(std::vector<PodFailurePolicyRule> rules) {
  JobSpec spec;
  spec.podFailurePolicy = PodFailurePolicy{std::move(rules)};
  return spec;
}

TEST(PodFailurePolicyMatch, the_first_rule_that_fits_holds) {
  const struct {
    const char* id;
    std::vector<PodFailurePolicyRule> rules;
    std::initializer_list<int> codes;
    const char* action;
  } rows[] = {
      {"C221", {rule("FailJob", "In", {1, 2, 3})}, {2}, "FailJob"},
      {"C222", {rule("FailJob", "NotIn", {111})}, {0, 111, 0}, ""},
      {"C223", {rule("FailJob", "NotIn", {0})}, {1}, "FailJob"},
      {"C224", {rule("Count", "In", {1, 2, 3}), rule("FailJob", "In", {4, 5, 6})}, {6}, "FailJob"},
      {"C220", {rule("Ignore", "In", {42})}, {42}, "Ignore"},
      {"C225", {rule("FailIndex", "In", {7})}, {7}, "FailIndex"},
      {"C226", {rule("FailJob", "In", {-1})}, {-1}, "FailJob"},
      {"none fits", {rule("FailJob", "In", {5})}, {2}, ""},
  };
  for (const auto& row : rows)
    EXPECT_EQ(match_failure_policy(with_rules(row.rules), failed_pod(row.codes)).action, row.action)
        << row.id;
  EXPECT_TRUE(match_failure_policy(JobSpec(), failed_pod({2})).counts());  // C219
}

TEST(PodFailurePolicyMatch, says_which_container_and_which_rule) {  // C221, C224
  const JobSpec spec = with_rules({rule("Count", "In", {9}), rule("FailJob", "In", {1, 2, 3})});
  EXPECT_EQ(match_failure_policy(spec, failed_pod({2})).message,
            "Container main-container for pod default/mypod failed with exit code 2 matching "
            "FailJob rule at index 1");
}

TEST(PodFailurePolicyMatch, reads_conditions_by_type_and_status) {  // C220
  PodFailurePolicyRule on_disruption;
  on_disruption.action = "Ignore";
  on_disruption.onPodConditions = {{"DisruptionTarget", "True"}};
  const JobSpec spec = with_rules({on_disruption});
  Pod pod = failed_pod({137});
  PodCondition& condition = pod.status.conditions.edit().emplace_back();
  condition.type_ = "DisruptionTarget";
  condition.status = "False";
  EXPECT_EQ(match_failure_policy(spec, pod).action, "");
  pod.status.conditions.edit().back().status = "True";
  EXPECT_EQ(match_failure_policy(spec, pod).action, "Ignore");
  EXPECT_FALSE(match_failure_policy(spec, pod).counts());
}

TEST(SuccessPolicyMatch, counts_what_its_rules_name) {
  const struct {
    const char* id;
    std::vector<SuccessPolicyRule> rules;
    const char* done;
    const char* why;  // empty: not met
  } rows[] = {
      {"C227", {{"0-2", {}}}, "0-2,4-7", "Matched rules at index 0"},
      {"C227b", {{"3", {}}}, "0-2", ""},
      {"C228", {{{}, 2}}, "0-2", "Matched rules at index 0"},
      {"C228b", {{{}, 4}}, "0-2", ""},
      {"C229", {{"9", {}}, {"4,6", {}}}, "4-7", "Matched rules at index 1"},
      {"C230", {{"3-6", 2}}, "0-2,4-7", "Matched rules at index 0"},
      {"C230b", {{"3-6", 2}}, "0-2,6,7", ""},
      {"C231", {{"", {}}}, "0-9", ""},
      {"nothing has succeeded", {{{}, 0}}, "", ""},
  };
  for (const auto& row : rows) {
    JobSpec spec;
    spec.completions = 10;
    spec.successPolicy = SuccessPolicy{row.rules};
    EXPECT_EQ(match_success_policy(spec, IndexSet::read(row.done, 10)).value_or(""), row.why)
        << row.id;
  }
}

}  // namespace
}  // namespace ddptwin::controller::job::policies_test
