// What a plan decides is held by the recordings (tests/recordings/pytorchjob); here is what they do
// not show.
#include "controller/training_operator/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace ddptwin::controller::pytorchjob::plan_test
