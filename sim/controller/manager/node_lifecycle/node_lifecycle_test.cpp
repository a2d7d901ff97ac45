// What a cluster makes of silent nodes (spec/kubernetes.md §2.12); the recordings of system
// `scheduler` that need `node-lifecycle` show the rest.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/manager/manager_test_fixture.hpp"
#include "controller/manager/node_lifecycle/controller.hpp"

namespace ddptwin::node_lifecycle_test {
namespace {

using namespace node_lifecycle;

using testing::ElementsAre;
using testing::IsEmpty;

using manager_test::start;

struct Fixture : manager_test::ManagerWorld {
  NodeHeartbeats heartbeats{};
  NodeLifecycle lifecycle{loop, client, informers, heartbeats};

  Fixture() { lifecycle.start(); }

  void node(const std::string& name) {
    auto made = std::make_shared<Node>();
    made->metadata.name = name;
    for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
      Condition& condition = made->status.conditions.edit().emplace_back();
      condition.type_ = type;
      condition.status = std::string_view(type) == "Ready" ? "True" : "False";
    }
    must(api::create(made));
    must(api::update(std::make_shared<Node>([&] {
                       auto stored = *find(name);
                       stored.status = made->status;
                       return stored;
                     }()),
                     "status"));
  }
  void pod(const std::string& name, const std::string& node, const char* ready = "True") {
    auto made = std::make_shared<Pod>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    PodSpec& spec = made->spec.edit();
    spec.nodeName = node;
    spec.containers = {{.name = "c", .image = "i"}};
    auto stored = std::static_pointer_cast<Pod>(must(api::create(made))->clone());
    PodCondition& condition = stored->status.conditions.edit().emplace_back();
    condition.type_ = "Ready";
    condition.status = ready;
    must(api::update(stored, "status"));
  }
  void silence(const std::string& node) { heartbeats.stop(node, loop.now()); }
  // As its kubelet does when it is back.
  void resume(const std::string& name) {
    heartbeats.resume(name);
    auto node = std::make_shared<Node>(*find(name));
    for (Condition& condition : node->status.conditions.edit())
      condition.status = condition.type_ == "Ready" ? "True" : "False";
    must(api::update(node, "status"));
  }
  std::shared_ptr<const Node> find(const std::string& name) const {
    return store.find<Node>("", name);
  }
  // "unreachable:NoSchedule ..." of a node.
  std::string taints(const std::string& name) const {
    std::string text;
    for (const Taint& taint : find(name)->spec.taints)
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ",
                          taint.key.substr(taint.key.find('/') + 1), taint.effect);
    return text;
  }
  std::string ready_of(const std::string& pod) const {
    return store.find<Pod>("default", pod)->status.condition("Ready")->status.str();
  }
  // "object reason" in the order of the objects' names.
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (const auto& [key, object] : store.objects(Event::info())) {
      const auto& event = static_cast<const Event&>(*object);
      EXPECT_EQ(event.rest->source.component, "node-controller");
      all.push_back(fmt::format("{} {}", event.involvedObject->name, event.reason));
    }
    return all;
  }
};

constexpr const char* lost = "unreachable:NoSchedule unreachable:NoExecute";
constexpr const char* lost_but_kept = "unreachable:NoSchedule";

TEST(NodeHeartbeats, come_every_ten_seconds_from_the_nodes_making_on) {
  EXPECT_EQ(NodeHeartbeats::last_of(start, start + 29s), start + 20s);
  EXPECT_EQ(NodeHeartbeats::last_of(start, start + 30s), start + 30s);
  EXPECT_EQ(NodeHeartbeats::last_of(start, start), start);
}

TEST(ZoneState, is_told_by_what_is_left) {
  struct Row {
    ZoneCount count;
    ZoneState state;
  };
  const Row rows[] = {
      {{.ready = 1, .not_ready = 0}, ZoneState::normal},
      {{.ready = 0, .not_ready = 1}, ZoneState::full_disruption},
      {{.ready = 1, .not_ready = 2}, ZoneState::normal},  // two are few
      {{.ready = 2, .not_ready = 3}, ZoneState::partial_disruption},
      {{.ready = 9, .not_ready = 11}, ZoneState::partial_disruption},  // 55 % just
      {{.ready = 10, .not_ready = 12}, ZoneState::normal},             // 54.5 %
  };
  for (const Row& row : rows)
    EXPECT_EQ(state_of(row.count), row.state) << row.count.ready << " " << row.count.not_ready;
}

TEST(NodeTaints, follow_conditions_and_cordon) {
  Node node;
  for (const char* type : {"MemoryPressure", "NetworkUnavailable", "Ready"}) {
    Condition& condition = node.status.conditions.edit().emplace_back();
    condition.type_ = type;
    condition.status = "True";
  }
  node.spec.unschedulable = true;
  node.spec.taints = {{"mine", "v", "NoSchedule", std::nullopt},
                      {std::string(not_ready_taint), "", "NoSchedule", std::nullopt},
                      {std::string(not_ready_taint), "", "NoExecute", std::nullopt}};
  EXPECT_TRUE(mirror_no_schedule(node, start));
  std::vector<std::string> keys;
  for (const Taint& taint : node.spec.taints) keys.push_back(taint.key + ":" + taint.effect);
  EXPECT_THAT(keys, ElementsAre("mine:NoSchedule", "node.kubernetes.io/not-ready:NoExecute",
                                "node.kubernetes.io/memory-pressure:NoSchedule",
                                "node.kubernetes.io/network-unavailable:NoSchedule",
                                "node.kubernetes.io/unschedulable:NoSchedule"));
  EXPECT_EQ(node.spec.taints.back().timeAdded, start);
  EXPECT_FALSE(mirror_no_schedule(node, start + 1s));
}

TEST(NodeLifecycle, a_silent_node_is_unknown_after_fifty_seconds) {
  Fixture f;
  f.node("a");
  f.node("b");
  f.pod("ready", "a");
  f.pod("unready", "a", "False");
  f.pod("elsewhere", "b");
  f.run(7s);
  f.silence("a");  // seen by the look of 10 s
  f.run(52s);
  EXPECT_EQ(f.taints("a"), "");
  f.run(1s);
  EXPECT_EQ(f.taints("a"), lost_but_kept);
  EXPECT_EQ(f.ready_of("ready"), "False");
  EXPECT_EQ(f.ready_of("elsewhere"), "True");
  f.run(1s);
  EXPECT_EQ(f.taints("a"), lost);
  for (const Condition& condition : f.find("a")->status.conditions) {
    EXPECT_EQ(condition.status, "Unknown") << condition.type_;
    EXPECT_EQ(condition.reason, "NodeStatusUnknown");
  }
  EXPECT_THAT(f.events(), testing::UnorderedElementsAre("a RegisteredNode", "b RegisteredNode",
                                                        "a NodeNotReady", "ready NodeNotReady"));
  f.resume("a");
  f.run(1ms);
  EXPECT_EQ(f.taints("a"), "unreachable:NoExecute");
  f.run(5s);
  EXPECT_EQ(f.taints("a"), "");
  EXPECT_EQ(f.ready_of("ready"), "False");  // its kubelet has not said otherwise
}

TEST(NodeLifecycle, a_node_that_is_heard_of_in_time_stays) {
  Fixture f;
  f.node("a");
  f.node("b");
  f.run(7s);
  f.silence("a");
  f.run(50s);
  f.heartbeats.resume("a");
  f.run(100s);
  EXPECT_EQ(f.taints("a"), "");
}

TEST(NodeLifecycle, nobody_says_so_while_the_process_is_away) {
  Fixture f;
  f.node("a");
  f.node("b");
  f.run(7s);
  f.silence("a");
  f.run(40s);
  f.lifecycle.crash();
  f.run(100s);
  EXPECT_EQ(f.taints("a"), "");
  f.lifecycle.start();
  f.run(49s);
  EXPECT_EQ(f.taints("a"), "");
  f.run(2s);
  EXPECT_EQ(f.taints("a"), lost);
}

TEST(NodeLifecycle, with_no_ready_node_left_nobody_is_evicted) {
  Fixture f;
  f.node("a");
  f.node("b");
  f.run(7s);
  f.silence("a");
  f.run(60s);
  EXPECT_EQ(f.taints("a"), lost);
  f.silence("b");
  f.run(60s);
  EXPECT_EQ(f.taints("a"), lost_but_kept);
  EXPECT_EQ(f.taints("b"), lost_but_kept);
  f.resume("b");
  f.run(6s);
  EXPECT_EQ(f.taints("a"), lost);
  EXPECT_EQ(f.taints("b"), "");
}

TEST(NodeLifecycle, the_nodes_of_a_zone_go_one_after_the_other) {
  Fixture f;
  for (const char* name : {"a", "b", "c", "d"}) f.node(name);
  f.run(7s);
  f.silence("a");
  f.silence("b");
  f.run(54s);
  EXPECT_EQ(f.taints("a"), lost);
  EXPECT_EQ(f.taints("b"), lost_but_kept);
  f.run(10s);
  EXPECT_EQ(f.taints("b"), lost);
}

TEST(NodeLifecycle, a_small_zone_that_is_mostly_lost_keeps_its_pods) {
  Fixture f;
  for (const char* name : {"a", "b", "c", "d"}) f.node(name);
  f.run(7s);
  for (const char* name : {"a", "b", "c"}) f.silence(name);
  f.run(200s);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(f.taints(name), lost_but_kept);
}

TEST(NodeLifecycle, what_is_refused_is_tried_again) {
  Fixture f;
  f.node("a");
  f.node("b");
  f.pod("p", "a");
  f.run(7s);
  f.silence("a");
  f.client.refusals[&Node::info()] = 4;
  f.client.refusals[&Pod::info()] = 1;
  f.run(54s);
  EXPECT_EQ(f.taints("a"), lost);
  EXPECT_EQ(f.ready_of("p"), "True");
  f.run(5s);
  EXPECT_EQ(f.ready_of("p"), "False");
}

// Five times at one look, 20 ms apart: then the next look, 5 s later, asks anew.
TEST(NodeLifecycle, what_is_refused_five_times_waits_for_the_next_look) {
  Duration said[2];
  for (const int refusals : {4, 5}) {
    Fixture f;
    f.node("a");
    f.node("b");
    f.run(7s);
    f.silence("a");
    f.client.refusals[&Node::info()] = refusals;
    const Time begin = f.loop.now();
    while (f.taints("a") != lost && f.loop.now() < begin + 2min) f.run(10ms);
    said[refusals - 4] = f.loop.now() - begin;
    EXPECT_EQ(f.client.refusals[&Node::info()], 0);
  }
  EXPECT_GE(said[1] - said[0], 4s);
  EXPECT_LE(said[1] - said[0], 6s);
}

TEST(NodeLifecycle, tells_of_nodes_that_come_and_go) {
  Fixture f;
  f.lifecycle.know("a");
  f.node("a");
  f.run(20s);
  EXPECT_THAT(f.events(), IsEmpty());
  f.must(api::remove(*f.find("a")));
  f.run(5s);
  EXPECT_THAT(f.events(), ElementsAre("a RemovingNode"));
}

}  // namespace
}  // namespace ddptwin::node_lifecycle_test
