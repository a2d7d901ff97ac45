// Whom a verdict names, in virtual time: the one whose end made the others end.
#include "scenario/judge/why.hpp"

#include <gtest/gtest.h>

#include "objects/kinds.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::why_test {
namespace {

std::string replica(const std::string& type, const std::string& policy,
                    const std::string& container) {
  return "    " + type + ": {replicas: 1, restartPolicy: " + policy +
         ", template: {spec: {containers: [{name: pytorch, " + container + "}]}}}\n";
}
std::string worker(const std::string& more = "") {
  return "image: ddptwin-worker, args: [--steps, '20', --step-time, 100ms" + more + "]";
}
std::string script(const std::string& text) {
  return "image: busybox, command: [sh, -c, '" + text + "']";
}

// A job and the scenario's spec, in flow style or none.
RunResult run(const std::string& spec, const std::string& replicas) {
  const std::string text =
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\n"
      "spec:\n  images: [{name: busybox}]\n" +
      spec +
      "---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"
      "metadata: {name: j}\nspec:\n  pytorchReplicaSpecs:\n" +
      replicas;
  const KindRegistry kinds;
  const auto parsed = parse_scenario("s.yaml", kinds,
                                     [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(parsed) << parsed.error().text();
  if (!parsed) return {};
  auto result = run_virtually(*parsed, {.seed = 1});
  EXPECT_TRUE(result) << result.error().text();
  return result ? std::move(*result) : RunResult();
}

TEST(Why, a_step_that_kills_is_named_with_whom_it_killed) {
  const RunResult result =
      run("  steps: [{kill: pod/j-worker-0, when: {of: pod/j-worker-0, step: 3}}]\n",
          replica("Master", "Never", worker()) + replica("Worker", "Never", worker()));
  EXPECT_FALSE(result.passed());
  EXPECT_NE(last_line(result).find("pod/j-worker-0 container pytorch exit 137 (SIGKILL), by the "
                                   "scenario's signal 9"),
            std::string::npos)
      << last_line(result);
}

TEST(Why, a_pod_that_is_deleted_is_named_rather_than_who_loses_it) {
  const RunResult result =
      run("  steps: [{delete: pod/j-worker-0, when: {of: pod/j-worker-0, step: 3}}]\n",
          replica("Master", "Never", worker()) + replica("Worker", "Never", worker()));
  EXPECT_NE(last_line(result).find("pod/j-worker-0 was deleted by the scenario"), std::string::npos)
      << last_line(result);
}

// What was made again and trained on is over: the second failure stands for itself.
TEST(Why, a_failure_that_is_over_is_not_named) {
  const RunResult result =
      run("  steps: [{kill: pod/j-worker-0, when: {of: pod/j-worker-0, step: 3}}]\n",
          replica("Master", "OnFailure", worker()) +
              replica("Worker", "ExitCode", worker(", --fail-at-step, '12'")));
  EXPECT_NE(last_line(result).find(
                "pod/j-worker-0 container pytorch exit 1: \"failing rank 1 at step 12\""),
            std::string::npos)
      << last_line(result);
}

// FM-116: every error comes from who waited; who did not come runs on and says nothing of it.
TEST(Why, who_did_not_come_is_told_behind_who_waited_for_it) {
  const RunResult result =
      run("  timeout: 20s\n",
          replica("Master", "OnFailure", worker(", --timeout, 6s")) +
              replica("Worker", "OnFailure",
                      worker(", --timeout, 6s, --fail-at-step, '3', --fail-with, hang")));
  EXPECT_FALSE(result.passed());
  const std::string line = last_line(result);
  EXPECT_NE(line.find("pod/j-master-0 container pytorch exit 1"), std::string::npos) << line;
  EXPECT_NE(line.find("; pod/j-worker-0 has run on since before that: it printed last: \"failing "
                      "rank 1 at step 3\""),
            std::string::npos)
      << line;
}

// Who only loses a peer is not asked for who ran on.
TEST(Why, who_ended_says_it_alone) {
  const RunResult result =
      run("  steps: [{kill: pod/j-worker-0, when: {of: pod/j-worker-0, step: 3}}]\n",
          replica("Master", "Never", worker()) + replica("Worker", "Never", worker()));
  EXPECT_EQ(last_line(result).find("has run on"), std::string::npos) << last_line(result);
}

TEST(Why, a_worker_that_finds_no_master_is_not_to_blame) {
  const RunResult result = run(
      "  timeout: 10m\n",
      replica("Master", "Never", script("sleep 1000") + ", resources: {requests: {cpu: 1000}}") +
          replica("Worker", "Never",
                  script("sleep 2; echo socket.gaierror: Name or service not known; exit 1")));
  EXPECT_NE(last_line(result).find("pod/j-master-0 not placed: 0/1 nodes are available"),
            std::string::npos)
      << last_line(result);
}

// Nobody says a word of it. That its controller asked twice for one Service is none of the reasons.
TEST(Why, a_pod_that_no_scheduler_looks_at_is_told_so) {
  const RunResult result = run(
      "  timeout: 1m\n",
      "    Master: {replicas: 1, restartPolicy: Never, template: {spec: {schedulerName: volcano, "
      "containers: [{name: pytorch, " +
          script("sleep 1") + "}]}}}\n");
  EXPECT_NE(last_line(result).find("pod/j-master-0 Pending, looked at by no scheduler: its "
                                   "schedulerName is volcano"),
            std::string::npos)
      << last_line(result);
}

TEST(Why, a_pod_that_the_scheduler_has_not_seen_blames_no_name) {
  const RunResult result =
      run("  faults: [{scheduler: down, at: 0s, for: 10m}]\n"
          "  timeout: 1m\n",
          replica("Master", "Never", script("sleep 1")));
  EXPECT_NE(
      last_line(result).find("pod/j-master-0 Pending, and the scheduler has not looked at it"),
      std::string::npos)
      << last_line(result);
}

TEST(Why, a_name_that_another_object_has_is_the_reason) {
  const RunResult result =
      run("  timeout: 1m\n---\napiVersion: v1\nkind: Service\nmetadata: {name: j-master-0}\n"
          "spec: {clusterIP: None, ports: [{port: 1}]}\n",
          replica("Master", "Never", script("sleep 1")));
  EXPECT_NE(last_line(result).find("services \"j-master-0\" already exists"), std::string::npos)
      << last_line(result);
}

TEST(Why, a_run_ends_when_it_is_decided) {
  const RunResult result = run("  timeout: 10m\n", replica("Master", "Never", script("exit 1")));
  EXPECT_FALSE(result.timed_out);
  EXPECT_LT(result.ended_at - result.started_at, 10s);
  // A step that waits for it, and one that is gone for good.
  const RunResult waiting = run(
      "  timeout: 10m\n  steps: [{wait: {of: pytorchjob/j, condition: Succeeded}}, {wait: 1h}]\n",
      replica("Master", "Never", script("exit 1")));
  EXPECT_LT(waiting.ended_at - waiting.started_at, 10s);
  ASSERT_EQ(waiting.step_verdicts.size(), 3U);
  EXPECT_EQ(
      waiting.step_verdicts[1].detail.find("it can never be so: pytorchjob/j: Created, Failed"), 0U)
      << waiting.step_verdicts[1].detail;
  const RunResult gone =
      run("  timeout: 10m\n  steps: [{delete: pytorchjob/j, after: 3s}]\n"
          "  expect: [{eventually: {of: pytorchjob/j, condition: Succeeded}}]\n",
          replica("Master", "Never", script("sleep 100")));
  EXPECT_LT(gone.ended_at - gone.started_at, 60s);
}

// A pod that its job makes again may still do what was awaited.
TEST(Why, what_may_come_again_is_awaited) {
  const RunResult result =
      run("  steps: [{kill: pod/j-worker-0, when: {of: pod/j-worker-0, step: 3}}]\n"
          "  expect: [{eventually: {of: pod/j-worker-0, phase: Succeeded}}]\n",
          replica("Master", "OnFailure", worker()) + replica("Worker", "ExitCode", worker()));
  EXPECT_TRUE(result.passed()) << last_line(result);
}

}  // namespace
}  // namespace ddptwin::scenario::why_test
