// What the Job controller remembers of a Job goes with it: a namesake begins anew.
#include <gtest/gtest.h>

#include "controller/host.hpp"
#include "controller/manager/job/controller.hpp"
#include "controller/manager/manager_test_fixture.hpp"
#include "objects/batch_v1.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::memory_test {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<Job> one_job() {
  auto made = std::make_shared<Job>();
  made->metadata.namespace_ = "default";
  made->metadata.name = "j";
  JobSpec& spec = made->spec.edit();
  spec.backoffLimit = 6;
  PodSpec& pod = spec.template_.spec.edit();
  pod.restartPolicy = "Never";
  pod.containers = std::vector{Container{.name = "c", .image = "train"}};
  return made;
}

// The controller, and pods that end as the test says.
struct JobsWorld : manager_test::ManagerWorld {
  JobsWorld() {
    host.start();
    run(1s);
    must(api::create(one_job()));
    run(1s);
  }

  std::shared_ptr<const Pod> alive() const {
    for (const auto& [key, object] : store.objects(Pod::info()))
      if (const Pod& pod = static_cast<const Pod&>(*object); !is_terminal_phase(pod.status.phase))
        return std::static_pointer_cast<const Pod>(object);
    return nullptr;
  }
  // Its pod ends with 1; how long it takes until there is another one.
  Duration fail_once() {
    const auto pod = alive();
    if (pod == nullptr) return {};
    auto ended = std::make_shared<Pod>(*pod);
    ended->status.phase = "Failed";
    ContainerStatus status;
    status.name = "c";
    status.state.terminated.edit().exitCode = 1;
    status.state.terminated.edit().finishedAt = loop.now().floor_seconds();
    ended->status.containerStatuses = std::vector{status};
    must(api::update(ended, "status"));
    const Time failed = loop.now();
    while (alive() == nullptr && loop.now() < failed + 20min) run(100ms);
    return loop.now() - failed;
  }
  // With its pods, as the garbage collector has it.
  void remove_job() {
    api::DeleteOptions background;
    background.propagation = api::Propagation::background;
    must(api::remove(*store.find<Job>("default", "j"), background));
    std::vector<ObjectPtr> pods;
    for (const auto& [key, object] : store.objects(Pod::info())) pods.push_back(object);
    for (const ObjectPtr& pod : pods) {
      auto free = std::make_shared<Pod>(static_cast<const Pod&>(*pod));
      free->metadata.finalizers = {};
      must(api::update(free));
      api::DeleteOptions now;
      now.grace_period_seconds = 0;
      must(api::remove(*pod, now));
    }
    run(1min);
  }

  JobController controller{};
  ControllerHost host{loop, direct, informers, trace, Random(3), controller};
};

class NamesakeJob : public ::testing::TestWithParam<bool> {};

TEST_P(NamesakeJob, waits_no_longer_for_what_failed_before_it) {
  JobsWorld world;
  const Duration first = world.fail_once();
  EXPECT_GE(first, 9s);
  EXPECT_LE(first, 12s);
  world.fail_once();
  EXPECT_GE(world.fail_once(), 39s);
  if (GetParam()) {
    world.host.crash();
    world.run(1s);
    world.host.start();
    world.run(2s);
    ASSERT_NE(world.alive(), nullptr);
  }
  // As it was read.
  auto again = std::make_shared<Job>(*world.store.find<Job>("default", "j"));
  world.remove_job();
  EXPECT_TRUE(world.controller.remembered().empty());
  Job fresh = *one_job();
  fresh.spec.edit().template_.spec = again->spec->template_.spec;
  world.must(api::create(std::make_shared<Job>(fresh)));
  world.run(1s);
  const Duration anew = world.fail_once();
  EXPECT_GE(anew, 9s);
  EXPECT_LE(anew, 12s);
}
INSTANTIATE_TEST_SUITE_P(crash, NamesakeJob, ::testing::Bool());

// And of what is over: no pod of it is made anew.
TEST(JobMemory, is_empty_once_all_jobs_are_gone) {
  JobsWorld world;
  world.fail_once();
  EXPECT_FALSE(world.controller.remembered().empty());
  world.remove_job();
  EXPECT_TRUE(world.controller.remembered().empty());
}

TEST(JobMemory, is_lost_in_a_crash) {
  JobsWorld world;
  world.fail_once();
  world.host.crash();
  EXPECT_TRUE(world.controller.remembered().empty());
}

}  // namespace
}  // namespace ddptwin::controller::memory_test
