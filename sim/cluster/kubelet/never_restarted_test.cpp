// Small rules of pods that are never restarted, and of what containers ask for.
#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::never_restarted_test {
namespace {

class NeverRestarted : public KubeletTest {};

// Upstream computePodActions: nothing is kept and nothing is to start, so the whole pod is ended,
// with its own grace and words (spec/kubernetes.md §2.6, "Never, 1.36").
TEST_F(NeverRestarted, a_startup_probe_that_fails_ends_a_pod_that_is_never_restarted) {
  add_pod("p",
          "restartPolicy: Never, containers: [{name: c, image: busybox, startupProbe: "
          "{exec: {command: [check]}, periodSeconds: 1, failureThreshold: 3}}]",
          "{rig/exec.c.check: 1 not yet}");
  pass(20s);
  const PodStatus& status = pod("p")->status;
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_EQ(status.containerStatuses.at(0).restartCount, 0);
  ASSERT_TRUE(status.containerStatuses.at(0).state.terminated);
  EXPECT_EQ(status.containerStatuses.at(0).state.terminated->exitCode, 143);
  EXPECT_EQ(events("Unhealthy"), 3);
  EXPECT_EQ(events("Killing"), 1);
}

// A sidecar is restarted whatever the pod's policy says; it is no failure of the pod.
TEST_F(NeverRestarted, a_sidecar_that_crashes_is_restarted_in_a_pod_that_never_is) {
  add_pod("p",
          "restartPolicy: Never, "
          "initContainers: [{name: s, image: busybox, restartPolicy: Always}], "
          "containers: [{name: c, image: busybox}]",
          "{rig/exit.s: '1 after 3, run', rig/exit.c: 0 after 40}");
  pass(30s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  EXPECT_EQ(pod("p")->status.initContainerStatuses.at(0).restartCount, 1);
  EXPECT_TRUE(pod("p")->status.initContainerStatuses.at(0).state.running);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 0);
  pass(40s);
  EXPECT_EQ(pod("p")->status.phase, "Succeeded");
}

// What is asked for is shown as it was asked for, nothing too (upstream
// convertToAPIContainerStatuses: at or below the least shares the specification's own counts).
TEST_F(NeverRestarted, a_container_that_asks_for_nothing_says_so) {
  add_pod("p",
          "containers: [{name: c, image: busybox, resources: "
          "{requests: {cpu: '0', memory: 0}, limits: {cpu: 1, memory: 64Mi}}}]");
  pass(3s);
  const ContainerStatus::Rest& shown = *pod("p")->status.containerStatuses.at(0).rest;
  ASSERT_TRUE(shown.resources);
  EXPECT_EQ(shown.resources->requests.find("cpu")->second.str(), "0");
  EXPECT_EQ(shown.resources->requests.find("memory")->second.str(), "0");
  EXPECT_EQ(shown.resources->limits.find("memory")->second.str(), "64Mi");
  EXPECT_EQ(shown.allocatedResources.find("cpu")->second.str(), "0");
}

// As 1, wherever it is asked for: the API when the pod is deleted, the kubelet's least otherwise.
TEST_F(NeverRestarted, a_negative_grace_is_the_least_there_is) {
  add_pod("p", "terminationGracePeriodSeconds: -5, containers: [{name: c, image: busybox}]",
          "{rig/term.c: ignore}");
  pass(3s);
  ASSERT_TRUE(pod("p"));
  remove("p");
  ASSERT_TRUE(pod("p"));
  EXPECT_EQ(pod("p")->metadata.deletionGracePeriodSeconds, 1);
  pass(6s);
  EXPECT_FALSE(pod("p"));
}

}  // namespace
}  // namespace ddptwin::kubelet::never_restarted_test
