// One sync as text: a Job and its pods in, rules and the status out. The ids are those of
// spec/trainjob.md §11.8.
#include "controller/manager/job/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/manager/job/pods.hpp"
#include "controller/manager/job/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/validation_batch_v1.hpp"

namespace ddptwin::controller::job::plan_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time noon(12h);

class Stage {
 public:
  explicit Stage(int parallelism, int completions, const char* mode = "NonIndexed") {
    job->metadata.name = "train";
    job->metadata.namespace_ = "ns";
    job->metadata.uid = "u-job";
    job->metadata.generation = 1;
    JobSpec& spec = job->spec.edit();
    spec.parallelism = parallelism;
    spec.completions = completions;
    spec.completionMode = mode;
    spec.template_.spec.edit().restartPolicy = "Never";
    spec.template_.spec.edit().containers = {{.name = "c", .image = "app:1"}};
    job->status.startTime = noon - 60s;
    job->status.ready = 0;
    job->status.terminating = 0;
    job->status.uncountedTerminatedPods.emplace();
    default_job(*job);
    generate_selector(*job);
  }
  // "running", "ready", "succeeded", "failed", "ending" (running, terminating). Its index; -1: none
  // is said.
  std::shared_ptr<Pod> add(std::string_view state, int index = -1) {
    auto pod = std::make_shared<Pod>();
    const std::string name = fmt::format("train-{}", pods.size());
    pod->metadata.name = name;
    pod->metadata.namespace_ = "ns";
    pod->metadata.uid = "u-" + name;
    pod->metadata.labels = job->spec->template_.metadata.labels;
    pod->metadata.creationTimestamp = noon - 30s;
    pod->metadata.ownerReferences = std::vector{controller_reference(*job)};
    pod->metadata.finalizers.edit().emplace_back(job_tracking_finalizer);
    if (index >= 0)
      pod->metadata.annotations.edit()[annotation::completion_index] = std::to_string(index);
    pod->status.phase = state == "succeeded" ? "Succeeded"
                        : state == "failed"  ? "Failed"
                                             : "Running";
    if (state == "ready") {
      PodCondition& ready = pod->status.conditions.edit().emplace_back();
      ready.type_ = "Ready";
      ready.status = "True";
      ready.lastTransitionTime = noon - 20s;
    }
    if (state == "ending") pod->metadata.deletionTimestamp = noon + 30s;
    if (state == "failed" || state == "succeeded") {
      ContainerStatus& status = pod->status.containerStatuses.edit().emplace_back();
      status.name = "c";
      auto& ended = status.state.terminated.emplace();
      ended.exitCode = state == "failed" ? 3 : 0;
      ended.finishedAt = noon;
    }
    pods.push_back(pod);
    return pod;
  }
  Planned pass(Time now = noon) const {
    View view;
    view.job = job;
    for (const auto& pod : pods) view.pods.push_back(pod);
    view.expectation_key = "ns/train";
    view.expectations_met = expectations_met;
    view.released = &released;
    view.back_off = back_off;
    return plan(view, now);
  }
  // "create_pod 0" with the index where the pod says one, "delete_pod train-0"; writes of the
  // status are told by status().
  std::vector<std::string> steps(Time now = noon) const {
    std::vector<std::string> told;
    for (const Step& step : pass(now).plan.steps) {
      if (step.rule == &rules::write_status || step.rule == &rules::count_pods ||
          step.rule == &rules::finish)
        continue;
      std::string about(step.text.view());
      if (step.request && step.request->object) {
        const auto index = index_of(static_cast<const Pod&>(*step.request->object));
        about = index ? std::to_string(*index) : "pod";
      } else if (step.request) {
        about = step.request->target.name.str();
      }
      told.push_back(fmt::format("{}{}{}", step.rule->name, about.empty() ? "" : " ", about));
    }
    return told;
  }
  // As the last write has it.
  BatchJobStatus status(Time now = noon) const {
    BatchJobStatus last = job->status;
    for (const Step& step : pass(now).plan.steps)
      if (step.request && step.request->target.subresource == "status")
        last = static_cast<const Job&>(*step.request->object).status;
    return last;
  }
  std::string reason_of(std::string_view type) const {
    const BatchJobStatus now = status();
    const BatchJobCondition* found = now.condition(type);
    return found != nullptr && found->status == "True" ? found->reason : "";
  }

  std::shared_ptr<Job> job = std::make_shared<Job>();
  std::vector<std::shared_ptr<Pod>> pods{};
  std::set<std::string> released{};
  BackOffRecord back_off{};
  bool expectations_met = true;
};

TEST(JobPlan, a_new_job_gets_its_pods_at_once) {
  Stage stage(2, 5);
  EXPECT_THAT(stage.steps(), ElementsAre("create_pod pod", "create_pod pod"));
  EXPECT_EQ(stage.status().active, 2);
}

TEST(JobPlan, indexes_are_taken_from_the_lowest) {  // C214, C215
  Stage stage(5, 20, "Indexed");
  for (const int index : {3, 5, 8}) stage.add("running", index);
  stage.job->status.completedIndexes = "2,9";
  stage.job->spec.edit().parallelism = 8;
  EXPECT_THAT(stage.steps(), ElementsAre("create_pod 0", "create_pod 1", "create_pod 4",
                                         "create_pod 6", "create_pod 7"));
}

TEST(JobPlan, of_two_with_one_index_the_worthier_stays) {  // C216
  Stage stage(5, 5, "Indexed");
  stage.add("running", 0);
  stage.add("ready", 0);
  stage.add("running", 6);
  EXPECT_THAT(stage.steps(), ElementsAre("delete_pod train-0", "delete_pod train-0",
                                         "delete_pod train-2", "delete_pod train-2"));
}

TEST(JobPlan, a_failed_pod_is_counted_before_it_is_let_go) {
  Stage stage(1, 1);
  stage.add("failed");
  const Planned planned = stage.pass();
  std::vector<std::string_view> rules;
  for (const Step& step : planned.plan.steps) rules.push_back(step.rule->name);
  EXPECT_THAT(rules,
              ElementsAre("await_back_off", "count_pods", "release_counted_pod", "write_status"));
  EXPECT_EQ(planned.plan.requeue_after, 10s);
  const auto& first = static_cast<const Job&>(*planned.plan.steps[1].request->object).status;
  EXPECT_THAT(first.uncountedTerminatedPods->failed, ElementsAre("u-train-0"));
  EXPECT_EQ(first.failed, 0);
  EXPECT_EQ(stage.status().failed, 1);
  EXPECT_EQ(planned.back_off->failures, 1);
}

TEST(JobPlan, who_was_counted_before_a_crash_is_not_counted_twice) {  // I15
  Stage stage(1, 1);
  stage.add("failed");
  stage.job->status.uncountedTerminatedPods->failed = {"u-train-0"};
  EXPECT_EQ(stage.status().failed, 1);
  stage.released = {"u-train-0"};
  EXPECT_EQ(stage.status().failed, 1);
  stage.job->status.uncountedTerminatedPods->failed.clear();
  stage.job->status.failed = 1;
  EXPECT_EQ(stage.status().failed, 1);
}

TEST(JobPlan, more_failures_than_the_limit_fail_it) {  // C246
  Stage stage(1, 1);
  stage.job->status.failed = 5;
  stage.add("failed");
  EXPECT_EQ(stage.reason_of("Failed"), "");
  stage.job->status.failed = 6;
  EXPECT_EQ(stage.reason_of("FailureTarget"), "BackoffLimitExceeded");
  EXPECT_EQ(stage.reason_of("Failed"), "BackoffLimitExceeded");
}

TEST(JobPlan, restarts_in_place_reach_the_limit) {  // C247
  Stage stage(2, 2);
  stage.job->spec.edit().template_.spec.edit().restartPolicy = "OnFailure";
  const auto restarts = [&stage](int count) {
    auto pod = stage.add("running");
    ContainerStatus& status = pod->status.containerStatuses.edit().emplace_back();
    status.name = "c";
    status.restartCount = count;
  };
  restarts(3);
  restarts(2);
  EXPECT_EQ(stage.reason_of("FailureTarget"), "");
  stage.pods.pop_back();
  restarts(3);
  EXPECT_EQ(stage.reason_of("FailureTarget"), "BackoffLimitExceeded");
}

TEST(JobPlan, its_end_waits_for_the_last_pod) {  // C236
  Stage stage(2, 2);
  stage.job->spec.edit().backoffLimit = 0;
  stage.add("failed");
  stage.add("running");
  EXPECT_THAT(stage.steps(), Contains("delete_pod train-1"));
  const BatchJobStatus status = stage.status();
  EXPECT_EQ(stage.reason_of("FailureTarget"), "BackoffLimitExceeded");
  EXPECT_FALSE(status.is_true("Failed"));
  EXPECT_EQ(status.failed, 2);
  EXPECT_EQ(status.terminating, 1);
}

TEST(JobPlan, a_decision_stands_though_its_cause_is_gone) {  // C233
  Stage stage(1, 1);
  stage.job->status.conditions = {
      {"FailureTarget", "True", noon, noon, "PodFailurePolicy", "a message"}};
  EXPECT_EQ(stage.reason_of("Failed"), "PodFailurePolicy");
  EXPECT_THAT(stage.steps(), IsEmpty());
}

TEST(JobPlan, is_complete_when_enough_have_succeeded) {
  Stage stage(2, 2);
  stage.add("succeeded");
  stage.add("succeeded");
  EXPECT_EQ(stage.reason_of("SuccessCriteriaMet"), "CompletionsReached");
  EXPECT_EQ(stage.reason_of("Complete"), "CompletionsReached");
  EXPECT_EQ(stage.status().succeeded, 2);
  EXPECT_EQ(stage.status().completionTime, noon);
}

TEST(JobPlan, of_no_completions_one_success_is_enough_and_the_others_go_on) {
  Stage stage(3, 1);
  stage.job->spec.edit().completions.reset();
  stage.add("succeeded");
  stage.add("running");
  EXPECT_EQ(stage.reason_of("SuccessCriteriaMet"), "");
  EXPECT_THAT(stage.steps(), ElementsAre("release_counted_pod train-0"));
  stage.pods.pop_back();
  EXPECT_EQ(stage.reason_of("Complete"), "CompletionsReached");
}

TEST(JobPlan, suspension_deletes_without_counting) {  // C240
  Stage stage(2, 2);
  stage.job->spec.edit().suspend = true;
  stage.add("ready");
  EXPECT_THAT(stage.steps(), ElementsAre("delete_pod train-0", "delete_pod train-0", "suspend"));
  const BatchJobStatus status = stage.status();
  EXPECT_TRUE(status.is_true("Suspended"));
  EXPECT_FALSE(status.startTime);
  EXPECT_EQ(status.failed, 0);
  EXPECT_EQ(status.terminating, 1);
}

TEST(JobPlan, resumption_begins_its_time_anew) {  // C241
  Stage stage(2, 2);
  stage.job->status.startTime.reset();
  stage.job->status.conditions = {{"Suspended", "True", noon, noon, "JobSuspended", ""}};
  EXPECT_THAT(stage.steps(), ElementsAre("create_pod pod", "create_pod pod", "resume"));
  EXPECT_EQ(stage.status().startTime, noon);
}

TEST(JobPlan, a_replacement_waits_for_the_end_under_policy_failed) {  // C252
  Stage stage(1, 1);
  stage.add("ending");
  stage.job->spec.edit().podReplacementPolicy = "Failed";
  EXPECT_THAT(stage.steps(), IsEmpty());
  EXPECT_EQ(stage.status().failed, 0);
  stage.job->spec.edit().podReplacementPolicy = "TerminatingOrFailed";
  EXPECT_THAT(stage.steps(), Contains("release_counted_pod train-0"));
  EXPECT_EQ(stage.status().failed, 1);
}

TEST(JobPlan, an_index_fails_when_its_own_limit_is_reached) {  // C235, C250, C251
  Stage stage(3, 3, "Indexed");
  JobSpec& spec = stage.job->spec.edit();
  spec.backoffLimitPerIndex = 1;
  auto pod = stage.add("failed", 1);
  EXPECT_EQ(stage.status().failedIndexes, "");
  pod->metadata.annotations.edit()[annotation::failure_count] = "1";
  EXPECT_EQ(stage.status().failedIndexes, "1");
  spec.maxFailedIndexes = 0;
  EXPECT_EQ(stage.reason_of("FailureTarget"), "MaxFailedIndexesExceeded");
  spec.maxFailedIndexes.reset();
  stage.add("succeeded", 0);
  stage.add("succeeded", 2);
  EXPECT_EQ(stage.reason_of("Failed"), "FailedIndexes");
  EXPECT_EQ(stage.status().completedIndexes, "0,2");
}

TEST(JobPlan, a_failed_pod_is_kept_until_another_has_its_index) {
  Stage stage(1, 1, "Indexed");
  stage.job->spec.edit().backoffLimitPerIndex = 2;
  stage.add("failed", 0);
  EXPECT_THAT(stage.steps(), ElementsAre("await_back_off 10s"));
  EXPECT_EQ(stage.status().failed, 0);
  const auto steps = stage.pass(noon + 10s).plan.steps;
  ASSERT_EQ(steps.front().rule, &rules::create_pod);
  const auto& made = static_cast<const Pod&>(*steps.front().request->object);
  EXPECT_EQ(made.metadata.annotations.at(annotation::failure_count), "1");
}

TEST(JobPlan, its_time_is_over) {  // C248
  Stage stage(1, 1);
  stage.job->spec.edit().activeDeadlineSeconds = 100;
  stage.add("running");
  EXPECT_EQ(stage.pass().plan.requeue_after, 40s);
  stage.job->spec.edit().activeDeadlineSeconds = 60;
  EXPECT_EQ(stage.reason_of("FailureTarget"), "DeadlineExceeded");
}

TEST(JobPlan, nothing_is_made_while_creations_are_not_seen) {
  Stage stage(2, 2);
  stage.expectations_met = false;
  EXPECT_THAT(stage.steps(), ElementsAre("expectations_unmet"));
}

TEST(JobPlan, a_refused_pod_ends_the_creations_and_the_counts_are_written) {
  Stage stage(3, 3);
  const auto steps = stage.pass().plan.steps;
  ASSERT_EQ(steps[1].rule, &rules::create_pod);
  ASSERT_TRUE(steps[1].instead);
  EXPECT_TRUE(steps[1].instead_fails);
  ASSERT_EQ(steps[1].instead->size(), 1U);
  EXPECT_EQ(static_cast<const Job&>(*steps[1].instead->front().request->object).status.active, 1);
}

TEST(JobPlan, another_cluster_looks_after_it) {
  Stage stage(1, 1);
  stage.job->spec.edit().managedBy = "example.com/other";
  EXPECT_THAT(stage.steps(), ElementsAre("managed_elsewhere"));
}

TEST(JobPod, has_name_index_and_variable) {  // C217, C245
  Stage stage(1, 3, "Indexed");
  const std::string name(63, 'x');
  stage.job->metadata.name = name;
  const auto steps = stage.pass().plan.steps;
  const auto& pod = static_cast<const Pod&>(*steps.front().request->object);
  EXPECT_EQ(pod.metadata.rest->generateName, name.substr(0, 55) + "-0-");
  EXPECT_EQ(pod.spec->rest->hostname, name + "-0");
  EXPECT_EQ(*pod.metadata.label(label::completion_index), "0");
  EXPECT_TRUE(is_tracked(pod));
  ASSERT_EQ(pod.spec->containers.front().env.size(), 1U);
  EXPECT_EQ(pod.spec->containers.front().env.front().name, "JOB_COMPLETION_INDEX");
}

TEST(JobPod, ended_when_its_last_container_did) {  // C208
  Pod pod;
  pod.metadata.creationTimestamp = noon - 60s;
  EXPECT_EQ(finish_time(pod), noon - 60s);
  pod.metadata.deletionTimestamp = noon;
  pod.metadata.deletionGracePeriodSeconds = 30;
  EXPECT_EQ(finish_time(pod), noon - 30s);
  PodCondition& ready = pod.status.conditions.edit().emplace_back();
  ready.type_ = "Ready";
  ready.status = "False";
  ready.lastTransitionTime = noon - 5s;
  EXPECT_EQ(finish_time(pod), noon - 5s);
  for (const Duration end : {-2s, -1s, 0s}) {
    ContainerStatus& status = pod.status.containerStatuses.edit().emplace_back();
    status.state.terminated.emplace().finishedAt = noon + end;
  }
  EXPECT_EQ(finish_time(pod), noon);
  // C209
  Container& sidecar = pod.spec.edit().initContainers.edit().emplace_back();
  sidecar.name = "s";
  sidecar.restartPolicy = "Always";
  ContainerStatus& status = pod.status.initContainerStatuses.edit().emplace_back();
  status.name = "s";
  status.state.terminated.emplace().finishedAt = noon + 3s;
  EXPECT_EQ(finish_time(pod), noon + 3s);
}

}  // namespace
}  // namespace ddptwin::controller::job::plan_test
