// A kubelet over the store and a scripted runtime, in virtual time. What a real one writes is held
// by the recordings (tests/recordings/kubelet); here is what they do not show.
#include "cluster/kubelet/kubelet.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::kubelet_test {
namespace {

TEST_F(KubeletTest, runs_a_pod_and_reports_its_end) {
  add_pod("p", one, "{rig/exit.c: 0 after 5}");
  pass(3s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  EXPECT_EQ(pod("p")->status.rest->hostIP, "192.168.0.1");
  pass(5s);
  EXPECT_EQ(pod("p")->status.phase, "Succeeded");
}

TEST_F(KubeletTest, a_tcp_probe_tries_to_connect) {
  add_pod(
      "p",
      "containers: [{name: c, image: busybox, ports: [{name: rendezvous, containerPort: 23456}],"
      " readinessProbe: {tcpSocket: {port: rendezvous}, periodSeconds: 1}}]");
  pass(10s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "False");
  std::string told;
  for (const auto& [key, object] : store_.objects(Event::info()))
    if (const auto event = as<Event>(object); event->reason == "Unhealthy") told = event->message;
  EXPECT_TRUE(told.starts_with("Readiness probe failed: dial tcp ")) << told;
  EXPECT_TRUE(told.ends_with(":23456: connect: connection refused")) << told;
  open_port_ = 23456;
  pass(10s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "True");
}

TEST_F(KubeletTest, a_pod_at_rest_costs_nothing) {
  add_pod("p", one);
  pass(10s);
  const std::uint64_t steps = loop_.steps();
  pass(3600s);
  EXPECT_EQ(loop_.steps(), steps);
}

TEST_F(KubeletTest, a_pod_that_runs_is_remembered_as_it_is_now_alone) {
  trace_.add_sink([](const Record&) {});  // who hears of it later is not kept for
  add_pod("p", one);
  const std::weak_ptr<const Pod> first = pod("p");
  pass(10s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  store_.compact();
  EXPECT_TRUE(first.expired());
}

// Upstream asks every second whether a pod is past its deadline; here the change of it is looked
// at.
TEST_F(KubeletTest, a_deadline_that_is_brought_forward_holds) {
  add_pod("p", std::string("activeDeadlineSeconds: 3600, ") + one);
  pass(10s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  ASSERT_TRUE(
      store_.call(api::patch(*pod("p"), api::PatchType::merge,
                             boost::json::parse(R"({"spec":{"activeDeadlineSeconds":20}})")),
                  "test"));
  pass(9s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  pass(5s);
  EXPECT_EQ(pod("p")->status.phase, "Failed");
  EXPECT_EQ(pod("p")->status.rest->reason, "DeadlineExceeded");
}

// Upstream HandlePodReconcile: a status that another wrote wakes the pod for its gates alone.
TEST_F(KubeletTest, a_readiness_gate_is_looked_at_when_somebody_sets_it) {
  add_pod("p", std::string("readinessGates: [{conditionType: example.com/open}], ") + one);
  pass(10s);
  const auto says = [&] { return pod("p")->status.condition("Ready")->status; };
  ASSERT_EQ(says(), "False");
  for (const std::string value : {"True", "False"}) {
    ASSERT_TRUE(store_.call(
        api::patch(*pod("p"), api::PatchType::strategic,
                   boost::json::parse(R"({"status":{"conditions":[{"type":"example.com/open",)"
                                      R"("status":")" +
                                      value + "\"}]}}"),
                   "status"),
        "test"));
    pass(2s);
    EXPECT_EQ(says(), value);
  }
}

TEST_F(KubeletTest, a_pull_names_the_sandbox_that_is_there) {
  add_pod("p", "containers: [{name: c, image: busybox, imagePullPolicy: Always}]",
          "{rig/exit.c: 1 after 30}");
  pass(5s);
  runtime_.sandbox_dies("default", "p");
  pass(20s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  pass(60s);  // it has ended and was started again
  EXPECT_EQ(runtime_.pulled_for, (std::vector<std::uint32_t>{0, 1, 1}));
}

// Upstream generateAPIPodStatus: reason and message stay with their phase.
TEST_F(KubeletTest, why_a_pod_was_evicted_is_known_to_the_next_process) {
  add_pod("p", one);
  pass(3s);
  ASSERT_TRUE(
      kubelet_->evict("default", "p", {"Evicted", "The node was low on resource: memory."}));
  pass(40s);
  ASSERT_EQ(pod("p")->status.rest->reason, "Evicted");
  kubelet_->stop();
  kubelet_->start();
  pass(30s);
  EXPECT_EQ(pod("p")->status.phase, "Failed");
  EXPECT_EQ(pod("p")->status.rest->reason, "Evicted");
  EXPECT_EQ(pod("p")->status.rest->message, "The node was low on resource: memory.");
}

TEST_F(KubeletTest, a_deleted_pod_goes_when_its_containers_have_ended) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/term.c: 0 after 3}");
  pass(3s);
  remove("p");
  pass(2s);
  ASSERT_TRUE(pod("p"));
  EXPECT_EQ(pod("p")->status.phase, "Running");
  pass(4s);
  EXPECT_FALSE(pod("p"));
  EXPECT_EQ(kubelet_->pod_count(), 0u);
}

TEST_F(KubeletTest, an_eviction_says_why) {
  add_pod("p", one);
  pass(3s);
  EXPECT_FALSE(kubelet_->evict("default", "q", PodVerdict{}));
  EXPECT_TRUE(kubelet_->evict(
      "default", "p", PodVerdict{"Evicted", "The node was low on resource: memory. ", "memory"}));
  pass(5s);
  const PodStatus& status = pod("p")->status;
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_EQ(status.rest->reason, "Evicted");
  EXPECT_EQ(status.rest->message, "The node was low on resource: memory. ");
  ASSERT_NE(status.condition("DisruptionTarget"), nullptr);
  EXPECT_EQ(status.condition("DisruptionTarget")->reason, "TerminationByKubelet");
}

TEST_F(KubeletTest, what_ended_while_no_kubelet_ran_is_found_by_the_next_one) {
  add_pod("p", one);
  pass(3s);
  kubelet_->stop();
  runtime_.container_exit("default", "p", "c", 3);
  pass(60s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  kubelet_->start();
  pass(5s);
  EXPECT_EQ(pod("p")->status.phase, "Failed");
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).state.terminated->exitCode, 3);
}

TEST_F(KubeletTest, a_sandbox_that_was_lost_while_no_kubelet_ran_is_made_anew) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]");
  pass(3s);
  kubelet_->stop();
  runtime_.sandbox_dies("default", "p");
  pass(60s);
  kubelet_->start();
  pass(30s);
  EXPECT_TRUE(pod("p")->status.containerStatuses.at(0).state.running);
  EXPECT_EQ(events("SandboxChanged"), 1);
}

TEST_F(KubeletTest, a_pod_that_was_removed_while_no_kubelet_ran_is_stopped) {
  add_pod("p", one);
  pass(3s);
  kubelet_->stop();
  api::DeleteOptions now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(store_.call(api::remove(*pod("p"), now), "test"));
  kubelet_->start();
  pass(5s);
  // With a signal first, and the least grace.
  const std::vector<std::string> calls = runtime_.calls("default", "p");
  ASSERT_GE(calls.size(), 2U);
  EXPECT_EQ(calls[calls.size() - 2], "StopContainer c attempt 0 timeout 2");
  EXPECT_EQ(calls.back(), "StopPodSandbox attempt 0");
}

TEST_F(KubeletTest, the_back_off_grows_and_is_reset_after_ten_good_minutes) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/exit.c: '1 after 1, 1 after 1, 1 after 1, 1 after 700, 1 after 1, run'}");
  pass(5s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 1);
  pass(70s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 3);
  // It ran for 700 s: the next restart is at once, the one after it 10 s later.
  pass(680s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 4);
  pass(15s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 5);
}

TEST_F(KubeletTest, kubelets_of_many_nodes_share_a_view) {
  kubelet_.reset();
  KubeletOptions options;
  options.view = std::make_shared<ClusterView>(loop_, client_, runtime_);
  std::vector<std::unique_ptr<Kubelet>> kubelets;
  for (const std::string name : {"m0", "m1"}) {
    add("apiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\n");
    options.node_name = name;
    kubelets.push_back(std::make_unique<Kubelet>(loop_, client_, trace_, runtime_, options));
    kubelets.back()->start();
    add("apiVersion: v1\nkind: Pod\nmetadata: {name: on-" + name + "}\nspec: {nodeName: " + name +
        ", containers: [{name: c, image: busybox}]}\n");
  }
  pass(3s);
  for (const auto& kubelet : kubelets) {
    EXPECT_EQ(kubelet->pod_count(), 1u);
    EXPECT_EQ(pod("on-" + kubelet->node_name())->status.phase, "Running");
  }
}

// Changes of others' claims neither wake it nor put off its next look.
TEST_F(KubeletTest, waits_for_its_claim_and_looks_no_more_once_that_is_bound) {
  add_pod("p", std::string(one) + ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]");
  pass(10s);
  EXPECT_EQ(pod("p")->status.phase, "Pending");
  add("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, annotations: "
      "{pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {accessModes: [ReadWriteOnce], volumeName: "
      "lies, resources: {requests: {storage: 1Gi}}}\n");
  pass(1s);
  EXPECT_EQ(pod("p")->status.phase, "Pending");
  add("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: lies}\nspec: {accessModes: "
      "[ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /srv}, claimRef: {namespace: "
      "default, name: c}}\n");
  pass(5s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  EXPECT_EQ(events("FailedMount"), 0);
  const std::uint64_t steps = loop_.steps();
  pass(200s);
  EXPECT_EQ(loop_.steps(), steps);
}

}  // namespace
}  // namespace ddptwin::kubelet::kubelet_test
