// What the PyTorchJob controller has worked out of a job goes with it: a namesake begins anew.
#include <gtest/gtest.h>

#include "controller/host.hpp"
#include "controller/manager/manager_test_fixture.hpp"
#include "controller/training_operator/controller.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob::memory_test {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<PyTorchJob> one_job() {
  auto job = std::make_shared<PyTorchJob>();
  job->metadata.namespace_ = "default";
  job->metadata.name = "j";
  ReplicaSpec replica;
  replica.replicas = 1;
  replica.restartPolicy = "Never";
  replica.template_.spec.edit().containers = {{.name = "pytorch", .image = "train"}};
  job->spec.edit().pytorchReplicaSpecs = ReplicaSpecs{{"Master", replica}, {"Worker", replica}};
  return job;
}

// The operator alone: nobody collects what a job leaves, and nothing runs.
struct OperatorWorld : manager_test::ManagerWorld {
  OperatorWorld() {
    host.start();
    run(1s);
    must(api::create(one_job()));
    run(1s);
  }

  std::shared_ptr<const PyTorchJob> job() const { return store.find<PyTorchJob>("default", "j"); }
  std::vector<ObjectPtr> all(const KindInfo& kind) const {
    std::vector<ObjectPtr> found;
    for (const auto& [key, object] : store.objects(kind)) found.push_back(object);
    return found;
  }
  // With all that it has made, at once.
  void remove_all() {
    api::DeleteOptions now;
    now.grace_period_seconds = 0;
    if (job() != nullptr) must(api::remove(*job(), now));
    for (const KindInfo* kind : {&Pod::info(), &Service::info()})
      for (const ObjectPtr& object : all(*kind)) must(api::remove(*object, now));
  }
  void expect_parts_of(const PyTorchJob& owner) const {
    for (const KindInfo* kind : {&Pod::info(), &Service::info()}) {
      const auto parts = all(*kind);
      EXPECT_EQ(parts.size(), 2u) << kind->kind;
      for (const ObjectPtr& part : parts) {
        ASSERT_NE(part->metadata.controller(), nullptr) << part->metadata.name;
        EXPECT_EQ(part->metadata.controller()->uid, owner.metadata.uid) << part->metadata.name;
      }
    }
  }

  PyTorchJobController controller{};
  ControllerHost host{loop, direct, informers, trace, Random(3), controller};
};

enum class Between { nothing, rest, crash_before, crash_after };
class NamesakePyTorchJob : public ::testing::TestWithParam<Between> {};

// As it was read: the specification is the very one.
TEST_P(NamesakePyTorchJob, has_parts_of_its_own) {
  OperatorWorld world;
  const auto first = world.job();
  world.expect_parts_of(*first);
  const auto crash = [&world] {
    world.host.crash();
    world.run(1s);
    world.host.start();
    world.run(1s);
  };
  if (GetParam() == Between::crash_before) crash();
  world.remove_all();
  if (GetParam() == Between::rest) world.run(1min);
  if (GetParam() == Between::crash_after) crash();
  auto again = one_job();
  again->spec = first->spec;
  world.must(api::create(again));
  world.run(1min);
  ASSERT_NE(world.job(), nullptr);
  EXPECT_NE(world.job()->metadata.uid, first->metadata.uid);
  world.expect_parts_of(*world.job());
}
INSTANTIATE_TEST_SUITE_P(between, NamesakePyTorchJob,
                         ::testing::Values(Between::nothing, Between::rest, Between::crash_before,
                                           Between::crash_after));

// Another specification under the old name, at once.
TEST(PyTorchJobMemory, a_namesake_of_another_size_has_its_own_size) {
  OperatorWorld world;
  world.remove_all();
  auto again = one_job();
  again->spec.edit().pytorchReplicaSpecs->at("Worker").replicas = 3;
  world.must(api::create(again));
  world.run(1min);
  EXPECT_EQ(world.all(Pod::info()).size(), 4u);
}

TEST(PyTorchJobMemory, is_empty_once_all_jobs_are_gone) {
  OperatorWorld world;
  EXPECT_EQ(world.controller.remembered(), std::vector<Key>{"default/j"});
  ASSERT_EQ(world.host.remembered().size(), 1u);
  EXPECT_FALSE(world.host.remembered().front().is_gone);
  world.remove_all();
  world.run(1min);
  EXPECT_TRUE(world.host.remembered().empty());
}

TEST(PyTorchJobMemory, is_lost_in_a_crash_and_nothing_else_is) {
  OperatorWorld world;
  const auto before = world.all(Pod::info());
  world.host.crash();
  EXPECT_TRUE(world.host.remembered().empty());
  world.run(1min);
  world.host.start();
  world.run(1min);
  EXPECT_EQ(world.all(Pod::info()), before);
  EXPECT_EQ(world.controller.remembered(), std::vector<Key>{"default/j"});
}

}  // namespace
}  // namespace ddptwin::controller::pytorchjob::memory_test
