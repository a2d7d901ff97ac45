// What a plan decides is held by the recordings (tests/recordings/pytorchjob); here is what they do
// not show.
#include "controller/training_operator/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "controller/training_operator/conditions.hpp"

namespace ddptwin::controller::pytorchjob::plan_test {
namespace {

std::shared_ptr<const PyTorchJob> master_and_two_workers() {
  auto job = std::make_shared<PyTorchJob>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "default";
  job->metadata.uid = "u-1";
  ReplicaSpec one;
  one.replicas = 1;
  one.restartPolicy = "OnFailure";
  one.template_.spec.edit().containers = {{.name = "pytorch", .image = "busybox"}};
  ReplicaSpec two = one;
  two.replicas = 2;
  job->spec.edit().pytorchReplicaSpecs = ReplicaSpecs{{"Master", one}, {"Worker", two}};
  return job;
}

template <class T>
std::vector<std::shared_ptr<const T>> made(const Plan& plan) {
  std::vector<std::shared_ptr<const T>> out;
  for (const Step& step : plan.steps)
    if (step.request)
      if (auto object = as<T>(step.request->object)) out.push_back(std::move(object));
  return out;
}

// A cluster of many pods pays for each copy.
TEST(Plan, what_all_of_a_job_have_is_the_same_memory) {
  const auto job = master_and_two_workers();
  const JobFacts facts(*job);
  const Plan pass = plan({.job = job, .facts = &facts}, {}, Time());
  const auto pods = made<Pod>(pass);
  const auto services = made<Service>(pass);
  ASSERT_EQ(pods.size(), 3U);
  ASSERT_EQ(services.size(), 3U);
  ASSERT_EQ(pods[0]->metadata.ownerReferences.size(), 1U);
  EXPECT_EQ(pods[0]->metadata.ownerReferences[0].uid, "u-1");
  for (const auto& pod : pods)
    EXPECT_TRUE(pod->metadata.ownerReferences.same_as(pods[0]->metadata.ownerReferences));
  for (const auto& service : services) {
    EXPECT_TRUE(service->metadata.ownerReferences.same_as(pods[0]->metadata.ownerReferences));
    EXPECT_TRUE(service->spec->selector.same_as(service->metadata.labels));
    EXPECT_EQ(service->spec->selector.size(), 4U);
  }
  EXPECT_TRUE(pods[0]->spec->initContainers.empty());
  ASSERT_EQ(pods[1]->spec->initContainers.size(), 1U);
  EXPECT_TRUE(pods[2]->spec->initContainers.same_as(pods[1]->spec->initContainers));
}

// An event is told when the calls before it have been answered: the pod may be another by then.
TEST(Plan, an_event_tells_a_pods_reason_when_the_pod_is_gone) {
  const auto job = master_and_two_workers();
  const JobFacts facts(*job);
  auto pod = std::make_shared<Pod>(*made<Pod>(plan({.job = job, .facts = &facts}, {}, Time()))[0]);
  pod->status.phase = "Running";
  ContainerStatus status{.name = "pytorch"};
  ContainerStateTerminated& end = status.state.terminated.emplace();
  end.exitCode = 137;
  end.reason = "OOMKilled";
  pod->status.containerStatuses = {status};
  View view{.job = job, .facts = &facts};
  view.pods.push_back(pod.get());
  const Plan pass = plan(view, {}, Time());
  pod.reset();
  const auto of_the_pod = [](const Step& step) {
    return step.event && step.event->type == "Warning";
  };
  const auto step = std::find_if(pass.steps.begin(), pass.steps.end(), of_the_pod);
  ASSERT_NE(step, pass.steps.end());
  EXPECT_EQ(step->event->reason, "OOMKilled");
}

// Other containers have codes of their own, whatever place they have in the list.
TEST(Plan, the_exit_code_is_that_of_the_container_pytorch) {
  auto changed = std::make_shared<PyTorchJob>(*master_and_two_workers());
  for (auto& [type, replica] : *changed->spec.edit().pytorchReplicaSpecs)
    replica.restartPolicy = "ExitCode";
  const std::shared_ptr<const PyTorchJob> job = changed;
  const JobFacts facts(*job);
  const auto made_pod = made<Pod>(plan({.job = job, .facts = &facts}, {}, Time()))[0];
  for (const int code : {1, 137})
    for (const int side : {0, 1, 137})
      for (const bool side_first : {false, true}) {
        auto pod = std::make_shared<Pod>(*made_pod);
        pod->status.phase = "Failed";
        const auto ended = [](const char* name, int with) {
          ContainerStatus status{.name = name};
          status.state.terminated.emplace().exitCode = with;
          return status;
        };
        std::vector statuses{ended("pytorch", code), ended("side", side)};
        if (side_first) std::swap(statuses[0], statuses[1]);
        pod->status.containerStatuses = statuses;
        View view{.job = job, .facts = &facts};
        view.pods.push_back(pod.get());
        const Plan pass = plan(view, {}, Time());
        int told = 0;
        bool deleted = false;
        for (const Step& step : pass.steps) {
          if (step.event && step.event->reason == "ExitedWithCode") {
            ++told;
            EXPECT_TRUE(step.event->message.view().ends_with("code " + std::to_string(code)))
                << step.event->message;
          }
          deleted = deleted || (step.request && step.request->verb == api::Verb::remove &&
                                step.request->target.kind == &Pod::info());
        }
        EXPECT_EQ(told, 1) << code << " beside " << side;
        EXPECT_EQ(deleted, code == 137) << code << " beside " << side;
      }
}

TEST(Conditions, a_time_moves_exactly_when_the_status_flips) {
  JobStatus status;
  const auto at = [](int second) { return Time(std::chrono::seconds(second)); };
  const auto changed = [&] { return status.condition(condition::running)->lastTransitionTime; };
  EXPECT_TRUE(set_condition(status, {condition::running, true, "A", "a"}, at(1)));
  EXPECT_EQ(changed(), at(1));
  EXPECT_TRUE(set_condition(status, {condition::running, true, "B", "b"}, at(2)));
  EXPECT_EQ(changed(), at(1));
  EXPECT_EQ(status.condition(condition::running)->lastUpdateTime, at(2));
  EXPECT_TRUE(set_condition(status, {condition::running, false, "B", "b"}, at(3)));
  EXPECT_EQ(changed(), at(3));
  EXPECT_TRUE(set_condition(status, {condition::running, false, "C", "c"}, at(4)));
  EXPECT_EQ(changed(), at(3));
  EXPECT_FALSE(set_condition(status, {condition::running, false, "C", "d"}, at(5)));
  EXPECT_TRUE(set_condition(status, {condition::running, true, "C", "c"}, at(6)));
  EXPECT_EQ(changed(), at(6));
}

}  // namespace
}  // namespace ddptwin::controller::pytorchjob::plan_test
