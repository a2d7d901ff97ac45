// What a kubelet evicts for: the rules by themselves, and a kubelet that asks its runtime.
#include "cluster/kubelet/eviction.hpp"

#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::eviction_test {
namespace {

constexpr std::int64_t mi = 1 << 20;

PodUsage in_volume(const std::string& name, std::int64_t bytes) {
  PodUsage usage;
  usage.volumes[name] = bytes;
  return usage;
}

PodUsage in_container(const std::string& name, std::int64_t root, std::int64_t logs = 0) {
  PodUsage usage;
  usage.containers.push_back({name, root, logs});
  return usage;
}

class EvictionTest : public KubeletTest {
 protected:
  PodSpec spec(const std::string& text) {
    const std::string name = "spec-" + std::to_string(++specs_);
    add("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {" + text + "}\n");
    return *pod(name)->spec;
  }
  static std::string message(const PodSpec& spec, const PodUsage& usage) {
    const auto verdict = over_disk_limit(spec, usage);
    if (verdict) {
      EXPECT_EQ(verdict->reason, "Evicted");
      // Nobody disrupted it (spec/failure-modes.md FM-080: limits carry no DisruptionTarget).
      EXPECT_EQ(verdict->disruption, "");
    }
    return verdict ? verdict->message : "";
  }

 private:
  int specs_ = 0;
};

TEST_F(EvictionTest, an_empty_dir_has_a_limit) {
  const PodSpec limited = spec(
      "containers: [{name: c, image: busybox}], "
      "volumes: [{name: free, emptyDir: {}}, {name: out, emptyDir: {sizeLimit: 10Mi}}]");
  EXPECT_TRUE(has_disk_limits(limited));
  EXPECT_EQ(message(limited, in_volume("out", 10 * mi)), "");
  EXPECT_EQ(message(limited, in_volume("out", 10 * mi + 1)),
            "Usage of EmptyDir volume \"out\" exceeds the limit \"10Mi\". ");
  EXPECT_EQ(message(limited, in_volume("free", 100 * mi)), "");
}

// One in memory is full at its limit, and what has none is no limit.
TEST_F(EvictionTest, what_is_no_limit_on_disk) {
  for (const char* text :
       {"containers: [{name: c, image: busybox}]",
        "containers: [{name: c, image: busybox}], volumes: [{name: v, emptyDir: {}}]",
        "containers: [{name: c, image: busybox}], "
        "volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 1Mi}}]",
        "containers: [{name: c, image: busybox}], "
        "volumes: [{name: v, emptyDir: {sizeLimit: '0'}}]"})
    EXPECT_FALSE(has_disk_limits(spec(text))) << text;
}

// Upstream asks the pod before its containers: a single one is never named.
TEST_F(EvictionTest, the_pod_is_asked_before_its_containers) {
  const PodSpec single = spec(
      "containers: [{name: c, image: busybox, resources: {limits: {ephemeral-storage: 10Mi}}}]");
  EXPECT_TRUE(has_disk_limits(single));
  EXPECT_EQ(message(single, in_container("c", 9 * mi, mi)), "");
  EXPECT_EQ(message(single, in_container("c", 9 * mi, mi + 1)),
            "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ");
  const PodSpec two = spec(
      "containers: [{name: c, image: busybox, resources: {limits: {ephemeral-storage: 10Mi}}}, "
      "{name: d, image: busybox, resources: {limits: {ephemeral-storage: 1Gi}}}]");
  EXPECT_EQ(message(two, in_container("c", 11 * mi)),
            "Container c exceeded its local ephemeral storage limit \"10Mi\". ");
  EXPECT_EQ(message(two, in_container("d", 11 * mi)), "");
}

// What a container without a limit and the emptyDirs take counts against the sum of the others'.
TEST_F(EvictionTest, the_limit_of_a_pod_is_the_sum_of_those_that_are_there) {
  const PodSpec half = spec(
      "containers: [{name: c, image: busybox, resources: {limits: {ephemeral-storage: 10Mi}}}, "
      "{name: d, image: busybox}], volumes: [{name: v, emptyDir: {}}]");
  PodUsage usage = in_container("d", 6 * mi);
  EXPECT_EQ(message(half, usage), "");
  usage.volumes["v"] = 5 * mi;
  EXPECT_EQ(message(half, usage),
            "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ");
}

constexpr auto limited =
    "restartPolicy: Always, containers: [{name: c, image: busybox}], "
    "volumes: [{name: out, emptyDir: {sizeLimit: 10Mi}}]";

TEST_F(EvictionTest, who_is_over_a_limit_is_ended_within_ten_seconds) {
  add_pod("p", limited, "{rig/term.c: ignore}");
  add_pod("q", limited);
  pass(12s);
  runtime_.set_usage("default", "p", in_volume("out", 11 * mi));
  pass(8s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  EXPECT_EQ(events("Evicted"), 1);
  EXPECT_EQ(events("Killing"), 1);
  pass(3s);
  const PodStatus& status = pod("p")->status;
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_EQ(status.rest->reason, "Evicted");
  EXPECT_EQ(status.rest->message, "Usage of EmptyDir volume \"out\" exceeds the limit \"10Mi\". ");
  EXPECT_EQ(status.condition("DisruptionTarget"), nullptr);
  EXPECT_EQ(pod("q")->status.phase, "Running");
  const std::vector<std::string> calls = runtime_.calls("default", "p");
  EXPECT_NE(std::find(calls.begin(), calls.end(), "StopContainer c attempt 0 timeout 2"),
            calls.end());
  pass(60s);
  EXPECT_EQ(events("Evicted"), 1);
}

// Pods of the system's own priorities stay, whatever they take.
TEST_F(EvictionTest, a_critical_pod_is_not_evicted) {
  PodSpec user;
  user.priority = 1'000'000'000;
  EXPECT_FALSE(is_critical(user));
  user.priority = 2'000'000'000;
  EXPECT_TRUE(is_critical(user));
  add("apiVersion: v1\nkind: Pod\nmetadata: {name: dns, namespace: kube-system}\nspec: {nodeName: "
      "n0, "
      "priorityClassName: system-cluster-critical, " +
      std::string(limited) + "}\n");
  pass(3s);
  runtime_.set_usage("kube-system", "dns", in_volume("out", 11 * mi));
  pass(30s);
  EXPECT_EQ(store_.find<Pod>("kube-system", "dns")->status.phase, "Running");
  EXPECT_EQ(events("Evicted"), 0);
}

// A process that has just begun looks at whom it finds.
TEST_F(EvictionTest, the_next_process_goes_on_looking) {
  add_pod("p", limited);
  pass(3s);
  kubelet_->restart();
  pass(3s);
  runtime_.set_usage("default", "p", in_volume("out", 11 * mi));
  pass(15s);
  EXPECT_EQ(pod("p")->status.rest->reason, "Evicted");
}

}  // namespace
}  // namespace ddptwin::kubelet::eviction_test
