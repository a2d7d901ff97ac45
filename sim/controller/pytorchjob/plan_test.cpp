// What a plan decides is held by the recordings (tests/recordings/pytorchjob); here is what they do
// not show.
#include "controller/pytorchjob/plan.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ddptwin::controller::pytorchjob::plan_test
