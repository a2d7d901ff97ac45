// What becomes of a status that others write over (upstream's status manager, every 10 s from its
// start).
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::kubelet_written_over_test {
namespace {

TEST_F(KubeletTest, what_another_wrote_over_is_put_right_at_the_next_tick) {
  add_pod("p", "initContainers: [{name: i, image: busybox}], " + std::string(one),
          "{rig/exit.i: 0 after 1}");
  pass_until(27s);
  const PodStatus before = pod("p")->status;
  ASSERT_EQ(before.phase, "Running");
  for (const std::string change : {
           R"({"phase": "Pending", "reason": "Odd", "message": "odd"})",
           R"({"phase": "Failed"})",
           R"({"podIP": "1.2.3.4", "podIPs": [{"$patch": "replace"}, {"ip": "1.2.3.4"}]})",
           R"({"containerStatuses": null})",
           R"({"initContainerStatuses": [{"name": "i", "ready": false, "restartCount": 3,
               "image": "x", "imageID": "x", "state": {"running": {}}}]})",
           R"({"conditions": [{"type": "Ready", "status": "False", "reason": "Odd",
               "lastTransitionTime": "2026-01-01T00:00:00Z"}]})",
           R"({"conditions": [{"type": "PodScheduled", "status": "False"}]})",
           R"({"conditions": [{"type": "Initialized", "message": "odd"}]})",
           R"({"conditions": [{"type": "ContainersReady", "$patch": "delete"}]})",
           R"({"conditions": [{"type": "PodResizePending", "status": "True"}]})",
           R"({"startTime": "2026-01-01T00:00:00Z", "hostIP": null, "hostIPs": null})",
       }) {
    write_over("p", change);
    const std::string version = pod("p")->metadata.resourceVersion.str();
    const Duration tick = loop_.now() - began + 3s;
    pass_until(tick - 1ms);
    EXPECT_EQ(pod("p")->metadata.resourceVersion, version) << change;
    pass_until(tick + 20ms);
    EXPECT_EQ(to_json(pod("p")->status), to_json(before)) << change;
    pass_until(tick + 7s);
  }
  const std::uint64_t steps = loop_.steps();
  pass(3600s);
  EXPECT_EQ(loop_.steps(), steps);
}

TEST_F(KubeletTest, what_others_say_stays_as_they_say_it) {
  add_pod("p", one);
  pass_until(5s);
  write_over("p", R"({"conditions": [{"type": "example.com/a", "status": "True"},
                                     {"type": "DisruptionTarget", "status": "True"}]})");
  write_over("p", R"({"conditions": [{"type": "Ready", "status": "False"}]})");
  pass_until(11s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "True");
  EXPECT_EQ(pod("p")->status.condition("example.com/a")->status, "True");
  EXPECT_EQ(pod("p")->status.condition("DisruptionTarget")->status, "True");
  // A time alone is nothing that a kubelet would write for.
  write_over("p", R"({"conditions": [{"type": "Ready",
                                      "lastTransitionTime": "2026-01-01T00:00:00Z"}]})");
  write_over("p", R"({"conditions": [{"type": "example.com/a", "status": "False"},
                                     {"type": "DisruptionTarget", "$patch": "delete"}]})");
  const std::string version = pod("p")->metadata.resourceVersion.str();
  pass(60s);
  EXPECT_EQ(pod("p")->metadata.resourceVersion, version);
}

TEST_F(KubeletTest, a_finished_pod_that_was_written_over_is_put_right_too) {
  add_pod("p", one, "{rig/exit.c: 1 after 2}");
  pass_until(12s);
  const PodStatus before = pod("p")->status;
  ASSERT_EQ(before.phase, "Failed");
  write_over("p", R"({"phase": "Running"})");
  pass_until(21s);
  EXPECT_EQ(to_json(pod("p")->status), to_json(before));
}

TEST_F(KubeletTest, what_is_written_over_while_no_kubelet_runs_waits_for_the_next_one) {
  add_pod("p", one);
  pass_until(5s);
  kubelet_->stop();
  write_over("p", R"({"podIP": null, "conditions": [{"type": "Ready", "status": "False"}]})");
  const std::string version = pod("p")->metadata.resourceVersion.str();
  pass(60s);
  EXPECT_EQ(pod("p")->metadata.resourceVersion, version);
  kubelet_->start();
  pass(3s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "True");
  EXPECT_FALSE(pod("p")->status.rest->podIP.empty());
}

// The kubelet's patch has not what came between its look and the patch; it may see so before it has
// the answer.
TEST_F(KubeletTest, what_is_written_over_in_the_midst_of_a_write_is_put_right) {
  add_pod("p", std::string("readinessGates: [{conditionType: example.com/a}], ") + one);
  pass_until(4s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  const std::string address = pod("p")->status.rest->podIP.str();
  for (const Duration late : {0ms, 5ms}) {
    between_.answers_late = late;
    between_.before_patch = [this] { write_over("p", R"({"phase": "Pending", "podIP": null})"); };
    const std::string gate = late == 0ms ? "True" : "False";
    write_over("p", R"({"conditions": [{"type": "example.com/a", "lastTransitionTime":
                        "2026-01-01T00:00:00Z", "status": ")" +
                        gate + R"("}]})");
    pass(4s);
    ASSERT_FALSE(between_.before_patch);
    EXPECT_EQ(pod("p")->status.condition("Ready")->status, gate);
    EXPECT_EQ(pod("p")->status.phase, "Pending");
    pass(6s);
    EXPECT_EQ(pod("p")->status.phase, "Running");
    EXPECT_EQ(pod("p")->status.rest->podIP, address);
  }
}

// A pod with gates is looked at as soon as its Ready is wrong, and who looks at a pod that is
// shown as failed ends it. Others are put right before anybody looks.
TEST_F(KubeletTest, a_pod_with_gates_that_is_shown_as_failed_ends) {
  add_pod("gated", std::string("readinessGates: [{conditionType: example.com/a}], ") + one);
  add_pod("plain", one);
  pass_until(5s);
  write_over("gated", R"({"conditions": [{"type": "example.com/a", "status": "True"}]})");
  pass_until(12s);
  ASSERT_EQ(pod("gated")->status.condition("Ready")->status, "True");
  for (const std::string name : {"gated", "plain"}) write_over(name, R"({"phase": "Failed"})");
  pass_until(25s);
  EXPECT_EQ(pod("plain")->status.phase, "Running");
  EXPECT_EQ(pod("gated")->status.phase, "Failed");
  EXPECT_EQ(runtime_.calls("default", "gated").back(), "StopPodSandbox attempt 0");
}

TEST_F(KubeletTest, echoes_that_come_late_are_no_change_by_another) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/exit.c: '1 after 5, 1 after 3, run'}");
  pass_until(4s);
  between_.late = 12s;
  pass_until(90s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 2);
  EXPECT_EQ(between_.reads, between_.patches);
}

TEST_F(KubeletTest, a_pod_that_is_gone_is_not_put_right) {
  add_pod("p", one, "{rig/term.c: ignore}");
  pass_until(4s);
  remove("p");
  pass_until(6s);
  write_over("p", R"({"podIP": null})");
  pass_until(7s);
  api::DeleteOptions now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(store_.call(api::remove(*pod("p"), now), "test"));
  const int reads = between_.reads;
  pass_until(25s);
  EXPECT_EQ(between_.reads, reads);
}

TEST_F(KubeletTest, counts_what_happens_again_in_one_event) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/exit.c: '1 after 1'}");
  pass(30s);
  EXPECT_EQ(events("Started"), 3);
  EXPECT_GE(events("BackOff"), 2);
}

}  // namespace
}  // namespace ddptwin::kubelet::kubelet_written_over_test
