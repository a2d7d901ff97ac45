// The scheduler with the plugin Coscheduling against the store: pods of a group are bound together
// or not at all, and what is said of them meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster/scheduler/scheduler.hpp"
#include "cluster/scheduler/test_shapes.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_client.hpp"
#include "core/virtual_loop.hpp"

namespace ddptwin::coscheduling_test {
namespace {

using namespace scheduler::test;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string tail = " no new claims to deallocate, preemption: 0/1 nodes are available: 1 ";

class GangsTest : public testing::Test {
 protected:
  explicit GangsTest(const CoschedulingArgs& args = {})
      : scheduler(loop, client, trace, {.name = "gangs", .coscheduling = args}) {
    trace.add_sink([this](const Record& record) {
      if (const auto event = as<Event>(record.after); event && !record.before)
        lines.push_back(
            fmt::format("{} {}: {}", event->involvedObject->name, event->reason, event->message));
    });
    scheduler.start();
    settle();
  }

  void settle(Duration time = 1s) { loop.run_until(loop.now() + time); }
  void must(const api::Request& request) {
    const auto answer = store.call(request, "test");
    ASSERT_TRUE(answer) << answer.error().message;
    settle();
  }
  void add_node(const std::string& cpu = "4") {
    must(api::create(node("n", {{"cpu", cpu}})));
    auto ready = std::static_pointer_cast<Node>(store.find<Node>("", "n")->clone());
    ready->spec.taints.clear();
    must(api::update(ready));
  }
  void add_group(int least, std::optional<int> timeout = std::nullopt,
                 const std::map<std::string, std::string>& resources = {}) {
    auto group = std::make_shared<CoschedulingGroup>();
    group->metadata.namespace_ = "default";
    group->metadata.name = "g";
    CoschedulingGroupSpec spec;
    spec.minMember = least;
    spec.scheduleTimeoutSeconds = timeout;
    if (!resources.empty()) spec.minResources = amounts(resources);
    group->spec = std::move(spec);
    must(api::create(group));
  }
  void add_pod(const std::string& name, const std::string& cpu = "1", bool in_group = true) {
    auto one = pod(name, {{"cpu", cpu}});
    one->spec.edit().rest.edit().schedulerName = "gangs";
    if (in_group) one->metadata.labels.edit().emplace("scheduling.x-k8s.io/pod-group", "g");
    must(api::create(one));
  }
  void remove_pod(const std::string& name) {
    api::DeleteOptions options;
    options.grace_period_seconds = 0;
    must(api::remove(*find(name), std::move(options)));
  }
  std::shared_ptr<const Pod> find(const std::string& name) {
    return store.find<Pod>("default", name);
  }
  std::vector<std::string> placed() {
    std::vector<std::string> names;
    for (const auto& [key, object] : store.objects(Pod::info()))
      if (!as<Pod>(*object)->spec->nodeName.empty()) names.push_back(object->metadata.name.str());
    return names;
  }
  std::string reason_of(const std::string& name) {
    const PodCondition* told = find(name)->status.condition("PodScheduled");
    return told == nullptr ? "untold" : told->message.str();
  }
  // The events since the last call.
  std::vector<std::string> events() { return std::exchange(lines, {}); }

  VirtualLoop loop{Random(1), Time(std::chrono::hours(24 * 365 * 50))};
  Trace trace{loop};
  KindRegistry kinds = [] {
    KindRegistry all;
    all.add(std::shared_ptr<const KindInfo>(std::shared_ptr<void>(), &CoschedulingGroup::info()));
    return all;
  }();
  Store store{loop, Random(2), trace, kinds};
  StoreClient client{loop, store, "scheduler"};
  std::vector<std::string> lines;
  Scheduler scheduler;
};

TEST_F(GangsTest, waits_for_its_siblings_to_exist_and_binds_all_at_once) {
  add_node();
  add_group(3);
  add_pod("a");
  add_pod("b");
  EXPECT_THAT(placed(), IsEmpty());
  EXPECT_EQ(
      reason_of("b"),
      "0/1 nodes are available: pre-filter pod b cannot find enough sibling pods, current "
      "pods number: 2, minMember of group: 3." +
          tail +
          "Preemption is not helpful for scheduling., PodGroup default/g gets rejected due to "
          "Pod b is unschedulable even after PostFilter");
  add_pod("c");
  EXPECT_THAT(placed(), ElementsAre("a", "b", "c"));
}

TEST_F(GangsTest, a_gang_that_fits_in_part_holds_nothing) {
  add_node("2");
  add_group(3);
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  EXPECT_THAT(placed(), IsEmpty());
  const auto told = events();
  EXPECT_THAT(told, Contains("a FailedScheduling: 0/1 nodes are available: 1 optimistic rejection "
                             "in PostFilter."));
  EXPECT_THAT(told,
              Contains("b FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu." + tail +
                       "No preemption victims found for incoming pod., PodGroup default/g "
                       "gets rejected due to Pod b is unschedulable even after PostFilter"));
  // What waited has given its place back.
  add_pod("alone", "2", false);
  EXPECT_THAT(placed(), ElementsAre("alone"));
}

TEST_F(GangsTest, all_come_when_the_one_that_found_no_room_does) {
  add_node("3");
  add_group(3);
  add_pod("tenant", "1", false);
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  EXPECT_THAT(placed(), ElementsAre("tenant"));
  remove_pod("tenant");
  EXPECT_THAT(placed(), ElementsAre("a", "b", "c"));
}

TEST_F(GangsTest, beyond_the_least_each_goes_by_itself) {
  add_node("3");
  add_group(2);
  for (const char* name : {"a", "b", "c", "d"}) add_pod(name);
  EXPECT_THAT(placed(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(reason_of("d"), testing::Not(HasSubstr("gets rejected")));
}

TEST_F(GangsTest, one_that_is_made_again_joins_those_that_run) {
  add_node("3");
  add_group(3);
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  remove_pod("b");
  add_pod("d");
  EXPECT_THAT(placed(), ElementsAre("a", "c", "d"));
}

TEST_F(GangsTest, without_its_group_a_pod_is_sent_back) {
  add_node();
  add_pod("a");
  EXPECT_EQ(reason_of("a"), "0/1 nodes are available: 1 PodGroup not found.");
  add_group(1);
  EXPECT_THAT(placed(), ElementsAre("a"));
}

TEST_F(GangsTest, a_cluster_without_the_room_is_told_of_before_any_node_is_looked_at) {
  add_node("2");
  add_group(2, std::nullopt, {{"cpu", "5"}, {"nvidia.com/gpu", "1"}});
  add_pod("a");
  add_pod("b");
  EXPECT_THAT(reason_of("b"),
              HasSubstr("0/1 nodes are available: resource gap: map[cpu:{{3000 -3} {<nil>}  "
                        "DecimalSI} nvidia.com/gpu:{{1 0} {<nil>}  DecimalSI}]."));
}

TEST_F(GangsTest, another_schedulers_pods_are_left_alone) {
  add_node();
  must(api::create(pod("other")));
  settle(10min);
  EXPECT_EQ(find("other")->status.condition("PodScheduled"), nullptr);
}

TEST_F(GangsTest, who_waits_and_is_deleted_takes_the_others_along) {
  add_node("3");
  add_group(4);
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  // The fourth has no room, but all others of so small a part would wait for it.
  add_pod("d", "3");
  EXPECT_THAT(placed(), IsEmpty());
  remove_pod("a");
  EXPECT_THAT(placed(), IsEmpty());
  add_pod("alone", "3", false);
  EXPECT_THAT(placed(), ElementsAre("alone"));
}

// Where so small a part is without a place, the others wait for it.
class PatientGangsTest : public GangsTest {
 protected:
  PatientGangsTest() : GangsTest({.reject_percentage = 50}) {}
};

TEST_F(PatientGangsTest, who_has_a_place_keeps_it_until_the_time_is_over) {
  add_node("1");
  add_group(2, 30);
  add_pod("a");
  add_pod("b");
  EXPECT_THAT(placed(), IsEmpty());
  add_pod("alone", "1", false);
  EXPECT_THAT(placed(), IsEmpty()) << "the place is held";
  events();
  settle(31s);
  EXPECT_THAT(events(), Contains("b FailedScheduling: 0/1 nodes are available: 1 rejected due to "
                                 "timeout after waiting 30s at plugin Coscheduling."));
}

TEST_F(PatientGangsTest, all_that_wait_are_sent_back_with_the_first) {
  add_node("2");
  add_group(3, 30);
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  EXPECT_THAT(events(), Each(testing::Not(HasSubstr("optimistic rejection"))));
  settle(31s);
  EXPECT_THAT(events(), Contains("a FailedScheduling: 0/1 nodes are available: 1 rejection in "
                                 "Unreserve."));
  EXPECT_THAT(placed(), IsEmpty());
}

}  // namespace
}  // namespace ddptwin::coscheduling_test
