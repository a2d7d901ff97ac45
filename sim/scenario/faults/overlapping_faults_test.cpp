// What two faults take away comes back with the last of them.
#include <gmock/gmock.h>

#include "scenario/faults/injector_test_fixture.hpp"

namespace ddptwin::scenario::overlapping_faults_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(FaultInjector, a_controller_stays_away_until_its_last_crash_is_over) {
  Disturbed run(
      plan_of("[{controller: crash, of: pytorchjob-controller, for: 30s}, "
              "{controller: crash, of: training-operator, at: 5s, for: 5s}]"));
  run.go(29s);
  EXPECT_THAT(run.pods_made, IsEmpty());
  run.go(30s);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, each_second_controller_ends_for_itself) {
  // The first one is away: what is made is made by the second that is left.
  Disturbed run(
      plan_of("[{controller: double, of: pytorchjob-controller, at: 1s, for: 40s}, "
              "{controller: double, of: pytorchjob-controller, at: 2s, for: 5s}, "
              "{controller: crash, of: pytorchjob-controller, at: 8s, for: 60s}]"));
  const auto fails = [&run](const char* pod) {
    run.runtime.container_exit("default", pod, "pytorch", 137);
    run.go(5s);
  };
  run.go(20s);
  ASSERT_THAT(run.pods_made, SizeIs(3));
  fails("j-worker-0");
  EXPECT_THAT(run.pods_made, SizeIs(4));
  run.go(20s);
  fails("j-worker-1");
  EXPECT_THAT(run.pods_made, SizeIs(4));
  run.go(30s);
  EXPECT_THAT(run.pods_made, SizeIs(5));
}

TEST(FaultInjector, the_scheduler_stays_down_until_the_last_is_over) {
  Disturbed run(plan_of("[{scheduler: down, for: 30s}, {scheduler: down, at: 5s, for: 5s}]"));
  run.go(29s);
  EXPECT_THAT(run.scheduled, IsEmpty());
  run.go(30s);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, a_kubelet_that_restarts_on_a_lost_node_stays_silent) {
  Disturbed run(
      plan_of("[{node: cordon, of: n1}, {node: lost, of: n0, at: 20s, for: 200s}, "
              "{kubelet: restart, at: 30s, for: 2s}]"));
  run.go(40s);
  EXPECT_TRUE(
      run.world.call(api::remove(*run.world.find(Pod::info(), "default", "j-worker-1")), "user"));
  run.go(100s);
  EXPECT_NE(run.phase("j-worker-1"), "none");
  const auto going = as<Pod>(run.world.find(Pod::info(), "default", "j-worker-1"));
  EXPECT_TRUE(going->metadata.deletionTimestamp);
  run.go(120s);
  EXPECT_EQ(run.ready("n0"), "True");
}

TEST(FaultInjector, a_node_comes_back_with_the_end_of_its_last_outage) {
  Disturbed run(plan_of(
      "[{node: lost, of: n0, at: 10s, for: 100s}, {node: dead, of: n0, at: 15s, for: 5s}, "
      "{node: deleted, of: n1, at: 10s, for: 30s}, {node: lost, of: n1, at: 20s, for: 60s}, "
      "{node: cordon, of: n1, at: 20s, for: 90s}]"));
  run.go(50s);
  EXPECT_EQ(run.node("n1"), nullptr);
  run.go(12s);
  EXPECT_EQ(run.ready("n0"), "Unknown");  // 50 s after it was lost
  run.go(30s);
  ASSERT_NE(run.node("n1"), nullptr);
  EXPECT_EQ(run.ready("n1"), "True");
  EXPECT_TRUE(run.node("n1")->spec.unschedulable);
  run.go(20s);
  EXPECT_EQ(run.ready("n0"), "True");
  EXPECT_FALSE(run.node("n1")->spec.unschedulable);
}

TEST(FaultInjector, a_node_is_cordoned_until_the_last_is_over) {
  Disturbed run(
      plan_of("[{node: cordon, of: n0, for: 60s}, {node: cordon, of: n0, at: 5s, for: 5s}]"));
  run.go(50s);
  EXPECT_TRUE(run.node("n0")->spec.unschedulable);
  run.go(20s);
  EXPECT_FALSE(run.node("n0")->spec.unschedulable);
}

TEST(FaultInjector, a_link_has_all_faults_that_go_on) {
  Disturbed run(
      plan_of("[{link: delay, of: j-master-0, to: j-worker-0, at: 20s, for: 60s, delay: 2s}, "
              "{link: drop, of: j-worker-0, to: j-master-0, at: 30s, for: 10s}, "
              "{link: drop, of: j-worker-1, at: 20s, for: 60s}, "
              "{link: delay, of: j-worker-1, at: 30s, for: 10s}, "
              "{link: reset, of: j-worker-1, at: 32s, for: 9s}]"));
  run.go(25s);
  const auto link = [&run](const char* from, const char* to) {
    return run.network.link(run.ip(from), run.ip(to));
  };
  EXPECT_EQ(link("j-master-0", "j-worker-0"), (model::LinkFault{.delay = 2s}));
  EXPECT_EQ(link("j-worker-1", "j-master-0"), (model::LinkFault{.drop = true}));
  run.go(10s);
  EXPECT_EQ(link("j-master-0", "j-worker-0"), (model::LinkFault{.drop = true, .delay = 2s}));
  EXPECT_EQ(link("j-worker-1", "j-master-0"),
            (model::LinkFault{.drop = true, .reset = true, .delay = link_delay_default}));
  run.go(10s);
  EXPECT_EQ(link("j-master-0", "j-worker-0"), (model::LinkFault{.delay = 2s}));
  EXPECT_EQ(link("j-worker-1", "j-master-0"), (model::LinkFault{.drop = true}));
  run.go(50s);
  EXPECT_FALSE(run.network.any_fault());
}

// Its pods may come after its moment, and one of them never.
TEST(FaultInjector, a_link_waits_for_its_ends) {
  Disturbed run(
      plan_of("[{link: drop, of: j-master-0, to: j-worker-0, for: 10s}, {link: drop, of: nobody, "
              "for: 10s}, "
              "{link: delay, of: j-master-0, to: nobody, at: 15s}]"));
  run.go(1s);
  const auto link = [&run] { return run.network.link(run.ip("j-master-0"), run.ip("j-worker-0")); };
  run.go(5s);
  EXPECT_TRUE(link().drop);
  run.go(30s);
  EXPECT_TRUE(link().none());
  std::vector<std::int64_t> times;
  for (const Acted& one : run.injector.acted()) times.push_back(one.times);
  EXPECT_THAT(times, ElementsAre(1, 0, 0));
}

}  // namespace
}  // namespace ddptwin::scenario::overlapping_faults_test
