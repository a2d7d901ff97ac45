// Whom a kubelet takes beside those who are there, and after a restart.
#include <gtest/gtest.h>

#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::kubelet_admission_test {
namespace {

// The node has four.
std::string asking(const std::string& cpu) {
  return "restartPolicy: Never, containers: [{name: c, image: busybox, resources: {requests: {cpu: "
         "'" +
         cpu + "'}}}]";
}

TEST_F(KubeletTest, refuses_a_pod_that_finds_no_room_beside_the_others) {
  add_pod("a", asking("3"));
  add_pod("b", asking("3"));
  pass(3s);
  EXPECT_EQ(pod("a")->status.phase, "Running");
  EXPECT_EQ(pod("b")->status.phase, "Failed");
  EXPECT_EQ(pod("b")->status.rest->reason, "OutOfcpu");
  EXPECT_EQ(pod("b")->status.rest->message,
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 3000, "
            "capacity: 4000");
}

TEST_F(KubeletTest, a_refused_pod_stays_as_it_is_and_goes_when_deleted) {
  add_pod("p", "nodeSelector: {disk: ssd}, containers: [{name: c, image: busybox}]");
  pass(3s);
  const std::string before = pod("p")->metadata.resourceVersion.str();
  EXPECT_EQ(pod("p")->status.rest->reason, "NodeAffinity");
  kubelet_->restart();
  pass(10s);
  EXPECT_EQ(pod("p")->metadata.resourceVersion, before);
  remove("p");
  pass(1s);
  EXPECT_FALSE(pod("p"));
}

TEST_F(KubeletTest, a_finished_pod_gives_its_room_back) {
  add_pod("a", asking("3"), "{rig/exit.c: 0 after 1}");
  pass(5s);
  add_pod("b", asking("3"));
  pass(3s);
  EXPECT_EQ(pod("b")->status.phase, "Running");
}

// Upstream HandlePodAdditions: in the order of their creation, beside those who run.
TEST_F(KubeletTest, who_came_while_no_kubelet_was_there_is_asked_after_those_who_run) {
  add_pod("d", asking("2"));
  pass(3s);
  kubelet_->stop();
  add_pod("c", asking("2"));
  pass(2s);
  add_pod("a", asking("1"));
  pass(2s);
  add_pod("b", asking("2"));
  kubelet_->start();
  pass(3s);
  EXPECT_EQ(pod("d")->status.phase, "Running");
  EXPECT_EQ(pod("c")->status.phase, "Running");
  EXPECT_EQ(pod("a")->status.rest->reason, "OutOfcpu");
  EXPECT_EQ(pod("b")->status.rest->reason, "OutOfcpu");
}

// Upstream isPodStatusCacheTerminal: to a new process too.
TEST_F(KubeletTest, a_finished_pod_holds_no_room_when_the_kubelet_starts_anew) {
  add_pod("a", asking("3"), "{rig/exit.c: 0 after 1}");
  pass(5s);
  ASSERT_EQ(pod("a")->status.phase, "Succeeded");
  kubelet_->stop();
  add_pod("b", asking("3"));
  kubelet_->start();
  pass(3s);
  EXPECT_EQ(pod("b")->status.phase, "Running");
}

// Upstream asks for room beside the pods that it has objects of (kubelet.go getAllocatedPods).
TEST_F(KubeletTest, a_pod_whose_object_was_taken_away_holds_no_room) {
  add_pod("a", asking("3"), "{rig/term.c: ignore}");
  pass(3s);
  remove("a");
  pass(2s);
  add_pod("b", asking("3"));
  pass(2s);
  EXPECT_EQ(pod("b")->status.rest->reason, "OutOfcpu");
  api::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  ASSERT_TRUE(store_.call(api::remove(*pod("a"), at_once), "test"));
  add_pod("c", asking("3"));
  pass(3s);
  EXPECT_EQ(pod("c")->status.phase, "Running");
}

// Upstream scheduler/util GetHostPorts.
TEST_F(KubeletTest, a_sidecar_has_its_host_port_as_long_as_its_pod) {
  const std::string port = "image: busybox, ports: [{hostPort: 80, containerPort: 80}]}]";
  add_pod("a",
          "containers: [{name: c, image: busybox}], initContainers: [{name: s, restartPolicy: "
          "Always, " +
              port);
  pass(3s);
  add_pod("b", "containers: [{name: c, " + port);
  add_pod("d", "containers: [{name: c, image: busybox}], initContainers: [{name: once, " + port);
  pass(3s);
  EXPECT_EQ(pod("a")->status.phase, "Running");
  EXPECT_EQ(pod("b")->status.rest->reason, "NodePorts");
  EXPECT_EQ(pod("d")->status.rest->reason, "");  // what only initialises is not asked
}

}  // namespace
}  // namespace ddptwin::kubelet::kubelet_admission_test
