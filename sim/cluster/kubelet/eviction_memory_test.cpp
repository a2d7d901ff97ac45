// A node that is short of memory: whom its kubelet evicts, one at a time, and what the node says.
#include <gtest/gtest.h>

#include "cluster/kubelet/eviction.hpp"
#include "cluster/kubelet/eviction_test_fixture.hpp"
#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::eviction_memory_test {
namespace {

constexpr std::int64_t mi = 1 << 20;
const Signal& memory = signals()[0];
const std::array under_memory{&memory};

PodUsage uses(std::int64_t bytes, const std::string& container = "c") {
  PodUsage usage;
  usage.containers.push_back({container, 0, 0, bytes});
  return usage;
}

PodSpec requesting(const char* request, std::int32_t priority = 0) {
  return test::requesting(memory.resource, request, priority);
}

// Upstream rankMemoryPressure: beyond the request, then the priority, then how much beyond.
TEST(MemoryRank, who_goes_first) {
  struct Case {
    const char* what;
    PodSpec first, second;
    std::int64_t first_uses, second_uses;
  };
  const std::vector<Case> cases{
      {"beyond its request before who is within", requesting("10Mi", 9), requesting("1Gi"), 20 * mi,
       900 * mi},
      {"the lower priority", requesting("", 1), requesting("", 2), 10 * mi, 500 * mi},
      {"more beyond its request", requesting("100Mi"), requesting("400Mi"), 300 * mi, 500 * mi},
      {"of those within the one that is nearest", requesting("100Mi"), requesting("1Gi"), 90 * mi,
       500 * mi},
  };
  for (const Case& one : cases) {
    const PodUsage a = uses(one.first_uses), b = uses(one.second_uses);
    EXPECT_TRUE(goes_first(memory, {&one.first, &a}, {&one.second, &b})) << one.what;
    EXPECT_FALSE(goes_first(memory, {&one.second, &b}, {&one.first, &a})) << one.what;
  }
  const PodSpec same = requesting("");
  const PodUsage usage = uses(mi);
  EXPECT_FALSE(goes_first(memory, {&same, &usage}, {&same, &usage}));
}

TEST(MemoryRank, the_message_names_who_has_more_than_it_requests) {
  PodSpec spec = requesting("100Mi");
  Container& second = spec.containers.edit().emplace_back();
  second.name = "d";
  PodUsage usage = uses(1200 * mi);
  usage.containers.push_back({"d", 0, 0, 3 * mi});
  const PodVerdict both = low_on(memory, {&spec, &usage}, 100 * mi, 83 * mi);
  EXPECT_EQ(both.reason, "Evicted");
  EXPECT_EQ(both.message,
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 83Mi. "
            "Container c was using 1200Mi, request is 100Mi, has larger consumption of memory. "
            "Container d was using 3Mi, request is 0, has larger consumption of memory. ");
  EXPECT_EQ(both.disruption, both.message);
  usage.containers.front().memory = 100 * mi;
  EXPECT_EQ(low_on(memory, {&spec, &usage}, 100 * mi, 0).message,
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
            "Container d was using 3Mi, request is 0, has larger consumption of memory. ");
}

TEST(MemoryRank, a_node_under_pressure_takes_who_asks_for_something) {
  const auto verdict = refuse_under(under_memory, requesting(""));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->reason, "Evicted");
  EXPECT_EQ(verdict->message, "The node had condition: [MemoryPressure]. ");
  EXPECT_FALSE(refuse_under(under_memory, requesting("1Mi")));
  EXPECT_FALSE(refuse_under(under_memory, requesting("", 2'000'000'000)));
  PodSpec tolerant = requesting("");
  tolerant.tolerations.edit().push_back(
      {.key = "node.kubernetes.io/memory-pressure", .operator_ = "Exists"});
  EXPECT_FALSE(refuse_under(under_memory, tolerant));
}

class MemoryTest : public KubeletTest {
 protected:
  // On a node of 8 GiB.
  void run(const std::string& name, const std::string& spec, std::int64_t bytes) {
    add_pod(name, spec);
    pass(2s);
    runtime_.set_usage("default", name, uses(bytes));
  }
  std::string pressure() const {
    for (const Condition& said : store_.find<Node>("", "n0")->status.conditions)
      if (said.type_ == "MemoryPressure") return said.status + " " + said.reason;
    return "";
  }
  std::string phase(const std::string& name) const { return pod(name)->status.phase.str(); }
  static constexpr auto plain = "restartPolicy: Always, containers: [{name: c, image: busybox}]";
  static constexpr auto asks =
      "restartPolicy: Always, containers: "
      "[{name: c, image: busybox, resources: {requests: {memory: 1Gi}}}]";
};

TEST_F(MemoryTest, one_after_the_other_goes_until_there_is_room) {
  run("small", asks, 500 * mi);
  run("large", plain, 5000 * mi);
  run("larger", plain, 5500 * mi);
  run("largest", plain, 6000 * mi);
  pass(30s);
  EXPECT_EQ(events("Evicted"), 0) << "nobody has told the kubelet to look";
  runtime_.node_is_short("default", "large", NodeResource::memory);
  pass(1500ms);  // the next look
  EXPECT_EQ(events("Evicted"), 1);
  EXPECT_EQ(pressure(), "True KubeletHasInsufficientMemory");
  pass(5s);  // another follows when the first is gone, before its time
  EXPECT_EQ(events("Evicted"), 2);
  EXPECT_EQ(phase("largest"), "Failed");
  pass(5s);
  EXPECT_EQ(phase("larger"), "Failed");
  const PodStatus& status = pod("largest")->status;
  EXPECT_EQ(status.rest->reason, "Evicted");
  EXPECT_EQ(status.rest->message,
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
            "Container c was using 6000Mi, request is 0, has larger consumption of memory. ");
  ASSERT_NE(status.condition("DisruptionTarget"), nullptr);
  EXPECT_EQ(status.condition("DisruptionTarget")->reason, "TerminationByKubelet");
  EXPECT_EQ(status.condition("DisruptionTarget")->message, status.rest->message);
  EXPECT_EQ(events("EvictionThresholdMet"), 2);
  pass(4min);
  EXPECT_EQ(phase("large"), "Running");
  EXPECT_EQ(phase("small"), "Running");
  EXPECT_EQ(events("Evicted"), 2);
  EXPECT_EQ(pressure(), "True KubeletHasInsufficientMemory");
  pass(70s);
  EXPECT_EQ(pressure(), "False KubeletHasSufficientMemory");
}

// Who comes meanwhile, and asks for nothing, is refused.
TEST_F(MemoryTest, under_pressure_no_best_effort_pod_is_taken) {
  run("large", plain, 8150 * mi);
  runtime_.node_is_short("default", "large", NodeResource::memory);
  pass(12s);
  add_pod("late", plain);
  add_pod("asking", asks);
  pass(5s);
  EXPECT_EQ(phase("late"), "Failed");
  EXPECT_EQ(pod("late")->status.rest->message,
            "Pod was rejected: The node had condition: [MemoryPressure]. ");
  EXPECT_EQ(phase("asking"), "Running");
}

TEST_F(MemoryTest, what_an_earlier_process_has_said_is_taken_back) {
  run("large", plain, 8150 * mi);
  runtime_.node_is_short("default", "large", NodeResource::memory);
  pass(12s);
  ASSERT_EQ(pressure(), "True KubeletHasInsufficientMemory");
  kubelet_->restart();
  pass(15s);
  EXPECT_EQ(pressure(), "False KubeletHasSufficientMemory");
}

TEST_F(MemoryTest, short_no_more_when_it_looks_is_nothing) {
  run("large", plain, 100 * mi);
  runtime_.node_is_short("default", "large", NodeResource::memory);
  pass(60s);
  EXPECT_EQ(phase("large"), "Running");
  EXPECT_EQ(pressure(), "");
}

}  // namespace
}  // namespace ddptwin::kubelet::eviction_memory_test
