// A node that is short of disk: whom its kubelet evicts, one at a time, and what the node says.
#include <gtest/gtest.h>

#include "cluster/kubelet/eviction.hpp"
#include "cluster/kubelet/eviction_test_fixture.hpp"
#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::eviction_disk_test {
namespace {

constexpr std::int64_t gi = 1 << 30;
const Signal& disk = signals()[1];

PodUsage holds(std::int64_t root, std::int64_t logs = 0, std::int64_t volume = 0) {
  PodUsage usage;
  usage.containers.push_back({"c", root, logs, 7 * gi});
  if (volume > 0) usage.volumes["out"] = volume;
  return usage;
}

PodSpec requesting(const char* request, std::int32_t priority = 0) {
  return test::requesting(disk.resource, request, priority);
}

// Upstream rankDiskPressureFunc: all that a pod has on the disk, against what it requests.
TEST(DiskRank, who_goes_first) {
  struct Case {
    const char* what;
    PodSpec first, second;
    PodUsage first_holds, second_holds;
  };
  const std::vector<Case> cases{
      {"beyond its request before who is within", requesting("1Gi", 9), requesting("9Gi"),
       holds(2 * gi), holds(8 * gi)},
      {"the lower priority", requesting("", 1), requesting("", 2), holds(gi), holds(9 * gi)},
      {"more beyond its request", requesting("1Gi"), requesting("5Gi"), holds(4 * gi),
       holds(7 * gi)},
      {"logs and volumes count", requesting(""), requesting(""), holds(gi, gi, 2 * gi),
       holds(3 * gi)},
  };
  for (const Case& one : cases) {
    const PodUser a{&one.first, &one.first_holds}, b{&one.second, &one.second_holds};
    EXPECT_TRUE(goes_first(disk, a, b)) << one.what;
    EXPECT_FALSE(goes_first(disk, b, a)) << one.what;
  }
}

// The threshold is a tenth as a float32 has it, as upstream's messages show it.
TEST(DiskRank, the_message_names_who_has_more_than_it_requests) {
  const PodSpec spec = requesting("1Gi");
  const PodUsage usage = holds(3 * gi, gi / 2, 5 * gi);
  EXPECT_EQ(disk.least(100 * gi), 10737418400);
  EXPECT_EQ(low_on(disk, {&spec, &usage}, disk.least(100 * gi), 9 * gi).message,
            "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, "
            "available: 9Gi. Container c was using 3584Mi, request is 1Gi, has larger consumption "
            "of ephemeral-storage. ");
  // What lies in volumes is no container's.
  const PodUsage in_volume = holds(gi, 0, 5 * gi);
  EXPECT_EQ(low_on(disk, {&spec, &in_volume}, gi, 0).message,
            "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: "
            "0. ");
}

TEST(DiskRank, a_node_under_pressure_takes_nobody_but_the_systems_own) {
  const std::array alone{&disk};
  const auto verdict = refuse_under(alone, requesting("1Gi"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->message, "The node had condition: [DiskPressure]. ");
  EXPECT_FALSE(refuse_under(alone, requesting("", 2'000'000'000)));
  PodSpec tolerant = requesting("");
  tolerant.tolerations.edit().push_back({.operator_ = "Exists"});
  EXPECT_TRUE(refuse_under(alone, tolerant)) << "upstream asks of memory's taint alone";
  const std::array both{&signals()[0], &disk};
  EXPECT_EQ(refuse_under(both, tolerant)->message,
            "The node had condition: [MemoryPressure DiskPressure]. ");
  EXPECT_FALSE(refuse_under({}, requesting("")));
}

class DiskTest : public KubeletTest {
 protected:
  // Its node has 1 TiB, of which a tenth is to be free.
  DiskTest() {
    auto node = std::static_pointer_cast<Node>(store_.find<Node>("", "n0")->clone());
    node->status.capacity.edit()["ephemeral-storage"] = *Quantity::parse("1Ti");
    EXPECT_TRUE(store_.call(api::update(node, "status"), "test"));
  }
  void run(const std::string& name, PodUsage usage, const std::string& spec = plain) {
    add_pod(name, spec);
    pass(2s);
    runtime_.set_usage("default", name, std::move(usage));
  }
  std::string said(const std::string& type) const {
    for (const Condition& each : store_.find<Node>("", "n0")->status.conditions)
      if (each.type_ == type) return each.status + " " + each.reason + ": " + each.message;
    return "";
  }
  std::string phase(const std::string& name) const { return pod(name)->status.phase.str(); }
  static constexpr auto plain = "restartPolicy: Always, containers: [{name: c, image: busybox}]";
};

TEST_F(DiskTest, one_after_the_other_goes_until_there_is_room) {
  run("small", holds(200 * gi));
  run("large", holds(300 * gi));
  run("larger", holds(0, 0, 450 * gi));
  pass(30s);
  EXPECT_EQ(events("Evicted"), 0) << "nobody has told the kubelet to look";
  runtime_.node_is_short("default", "larger", NodeResource::disk);
  pass(12s);
  EXPECT_EQ(phase("larger"), "Failed");
  EXPECT_EQ(phase("large"), "Running");
  EXPECT_EQ(phase("small"), "Running");
  EXPECT_EQ(events("EvictionThresholdMet"), 1);
  EXPECT_EQ(pod("larger")->status.rest->message,
            "The node was low on resource: ephemeral-storage. Threshold quantity: 107374184Ki, "
            "available: 74Gi. ");
  EXPECT_EQ(pod("larger")->status.condition("DisruptionTarget")->reason, "TerminationByKubelet");
  EXPECT_EQ(said("DiskPressure"), "True KubeletHasDiskPressure: kubelet has disk pressure");
  EXPECT_EQ(said("MemoryPressure"), "") << "of memory nobody has told anything";
  pass(4min);
  EXPECT_EQ(said("DiskPressure"), "True KubeletHasDiskPressure: kubelet has disk pressure");
  pass(70s);
  EXPECT_EQ(said("DiskPressure"), "False KubeletHasNoDiskPressure: kubelet has no disk pressure");
}

TEST_F(DiskTest, under_pressure_no_pod_is_taken_whatever_it_asks_for) {
  run("large", holds(1000 * gi));
  runtime_.node_is_short("default", "large", NodeResource::disk);
  pass(12s);
  add_pod("late",
          "restartPolicy: Always, containers: "
          "[{name: c, image: busybox, resources: {requests: {memory: 1Gi}}}]");
  pass(5s);
  EXPECT_EQ(phase("late"), "Failed");
  EXPECT_EQ(pod("late")->status.rest->message,
            "Pod was rejected: The node had condition: [DiskPressure]. ");
}

// Upstream byEvictionPriority.
TEST_F(DiskTest, of_both_memory_is_reclaimed_first) {
  PodUsage of_memory, of_disk;
  of_memory.containers.push_back({"c", 0, 0, 8 * gi});
  of_disk.containers.push_back({"c", 1000 * gi, 0, 0});
  run("memory", std::move(of_memory));
  run("disk", std::move(of_disk));
  runtime_.node_is_short("default", "disk", NodeResource::disk);
  runtime_.node_is_short("default", "memory", NodeResource::memory);
  for (int i = 0; i < 30 && events("Evicted") == 0; ++i) pass(500ms);
  EXPECT_EQ(said("MemoryPressure").substr(0, 4), "True");
  EXPECT_EQ(said("DiskPressure").substr(0, 4), "True");
  EXPECT_EQ(events("Evicted"), 1);
  pass(10s);
  EXPECT_TRUE(pod("memory")->status.rest->message.view().starts_with(
      "The node was low on resource: memory."));
  EXPECT_EQ(phase("disk"), "Failed") << "then the disk";
}

}  // namespace
}  // namespace ddptwin::kubelet::eviction_disk_test
