#include "scenario/language/default_expectations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "objects/kinds.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario::default_expectations_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view job =
    "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j, labels: {a: b}}, "
    "spec: {}}\n";

std::vector<std::string> names(const std::string& text) {
  const KindRegistry kinds;
  const auto scenario = parse_scenario(
      "s.yaml", kinds, [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(scenario) << scenario.error().text();
  std::vector<std::string> found;
  if (scenario)
    for (const Expectation& one : scenario->expectations) found.push_back(one.name);
  return found;
}

// A scenario with these steps beside the job.
std::vector<std::string> with_steps(const std::string& steps) {
  return names("{apiVersion: ddptwin.dev/v1alpha1, kind: Scenario, spec: {steps: [" + steps +
               "]}}\n---\n" + std::string(job));
}

std::string pod(const std::string& spec, const std::string& metadata = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: p" + metadata +
         "}, spec: {containers: [{name: c, image: i}]" + spec + "}}\n";
}

TEST(DefaultExpectations, a_job_and_a_pod_that_ends_succeed) {
  EXPECT_THAT(names(std::string(job)), ElementsAre("pytorchjob/j succeeds"));
  EXPECT_THAT(names(pod(", restartPolicy: Never")), ElementsAre("pod/p succeeds"));
  EXPECT_THAT(names(pod(", restartPolicy: OnFailure")), ElementsAre("pod/p succeeds"));
}

TEST(DefaultExpectations, a_pod_that_is_restarted_for_ever_stays_ready) {
  for (const char* spec : {"", ", restartPolicy: Always"})
    EXPECT_THAT(names(pod(spec)), ElementsAre("pod/p becomes Running and Ready",
                                              "pod/p is Running and Ready at the end"));
}

TEST(DefaultExpectations, a_pod_that_somebody_owns_is_his) {
  EXPECT_THAT(names(pod("",
                        ", ownerReferences: [{apiVersion: v1, kind: Node, name: node, uid: u, "
                        "controller: true}]")),
              IsEmpty());
}

TEST(DefaultExpectations, what_a_step_applies_is_awaited_too) {
  EXPECT_THAT(with_steps("{apply: {object: " + pod(", restartPolicy: Never") + "}}"),
              ElementsAre("pytorchjob/j succeeds", "pod/p succeeds"));
}

TEST(DefaultExpectations, of_what_a_step_deletes_nothing_is_expected) {
  for (const char* of : {"pytorchjob/j", "pytorchjobs", "{of: {kind: PyTorchJob, labels: a=b}}",
                         "namespace/default"})
    EXPECT_THAT(with_steps(std::string("{delete: ") + of + "}"), IsEmpty()) << of;
  EXPECT_THAT(with_steps("{delete: pytorchjob/other}"), ElementsAre("pytorchjob/j succeeds"));
  EXPECT_THAT(with_steps("{delete: pytorchjob/j}, {apply: {object: " + std::string(job) + "}}"),
              ElementsAre("pytorchjob/j succeeds"));
}

TEST(DefaultExpectations, a_job_that_is_left_suspended_is_to_be_so) {
  const auto patch = [](const std::string& more) {
    return "{patch: {of: pytorchjob/j, " + more + "}}";
  };
  const std::string suspend = patch("patch: {spec: {runPolicy: {suspend: true}}}");
  const std::string resume =
      patch("type: json, patch: [{op: replace, path: /spec/runPolicy/suspend, value: false}]");
  EXPECT_THAT(with_steps(suspend), ElementsAre("pytorchjob/j is suspended"));
  EXPECT_THAT(with_steps(suspend + ", " + resume), ElementsAre("pytorchjob/j succeeds"));
  EXPECT_THAT(with_steps(patch("patch: {metadata: {labels: {c: d}}}")),
              ElementsAre("pytorchjob/j succeeds"));
}

TEST(DefaultExpectations, whoever_asks_for_an_end_has_said_enough) {
  EXPECT_THAT(names("{apiVersion: ddptwin.dev/v1alpha1, kind: Scenario, spec: {expect: [{name: "
                    "own, eventually: {of: pytorchjob/j, condition: Failed}}]}}\n---\n" +
                    std::string(job)),
              ElementsAre("own"));
}

TEST(DefaultExpectations, who_is_to_stand_still_is_not_to_succeed) {
  const auto with = [](const std::string& invariant) {
    return names(
        "{apiVersion: ddptwin.dev/v1alpha1, kind: Scenario, spec: {invariants: {violated: "
        "[{name: " +
        invariant + ", reason: so it is}]}}}\n---\n" + std::string(job));
  };
  EXPECT_THAT(with("progress"), IsEmpty());
  EXPECT_THAT(with("one-state"), ElementsAre("pytorchjob/j succeeds"));
}

}  // namespace
}  // namespace ddptwin::scenario::default_expectations_test
