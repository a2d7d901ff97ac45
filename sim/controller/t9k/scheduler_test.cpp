// One round of T9k's scheduler (spec/t9k.md §14).
#include "controller/t9k/scheduler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "controller/t9k/policy.hpp"
#include "controller/t9k/rules.hpp"

namespace ddptwin::controller::t9k::scheduler_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Cluster {
 public:
  void node(const std::string& name, int cpu) {
    auto node = std::make_shared<Node>();
    node->metadata.name = name;
    node->metadata.labels = StringMap{{"name", name}};
    node->status.allocatable =
        ResourceList{{"cpu", Quantity::of(cpu)}, {"pods", Quantity::of(100)}};
    node->status.capacity = node->status.allocatable;
    view.nodes.push_back(node);
  }
  T9kQueue& queue(const std::string& name, int priority) {
    auto queue = std::make_shared<T9kQueue>();
    queue->metadata.name = name;
    queue->spec.priority = priority;
    view.queues.push_back(queue);
    return *queue;
  }
  void group(const std::string& name, int least, int priority = 0) {
    auto group = std::make_shared<T9kPodGroup>();
    group->metadata.name = name;
    group->metadata.namespace_ = "ml";
    group->metadata.creationTimestamp = Time(std::chrono::seconds(++made_));
    group->spec.minMember = least;
    group->spec.priority = priority;
    view.groups.push_back(group);
  }
  Pod& pod(const std::string& group, int index, const std::string& queue, int cpu = 1,
           const std::string& node = "") {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = fmt::format("{}-{}", group, index);
    pod->metadata.namespace_ = "ml";
    pod->metadata.uid = pod->metadata.name.view();
    pod->metadata.creationTimestamp = Time(std::chrono::seconds(++made_));
    pod->metadata.labels = StringMap{{label::group_name, group}, {label::queue, queue}};
    PodSpec& spec = pod->spec.edit();
    spec.rest.edit().schedulerName = scheduler_name;
    spec.nodeName = node;
    Container container{.name = "c"};
    container.resources.requests = ResourceList{{"cpu", Quantity::of(cpu)}};
    spec.containers = std::vector{container};
    pod->status.phase = node.empty() ? "Pending" : "Running";
    view.pods.push_back(pod);
    return *pod;
  }
  void pods(const std::string& group, int count, const std::string& queue, int cpu = 1,
            const std::string& node = "") {
    for (int i = 0; i < count; ++i) pod(group, i, queue, cpu, node);
  }

  // "place_pod a-0", "preempt_pod b-1"; what is told of those that wait is left out.
  std::vector<std::string> round(Time now = Time()) const {
    std::vector<std::string> told;
    for (const Step& step : schedule(view, now).steps)
      if (step.rule != &rules::tell_waiting_pod && step.rule != &rules::write_group)
        told.push_back(fmt::format("{} {}", step.rule->name, api::name_of(*step.request).view()));
    return told;
  }
  std::string reason_of(const std::string& group) const {
    for (const Step& step : schedule(view, Time()).steps) {
      if (step.rule != &rules::write_group) continue;
      const auto& told = static_cast<const T9kPodGroup&>(*step.request->object);
      if (told.metadata.name != group) continue;
      for (const T9kPodGroupCondition& one : told.status->conditions)
        if (one.type_ == "GroupScheduled") return one.reason;
    }
    return "untold";
  }

  SchedulingView view{};

 private:
  int made_ = 0;
};

TEST(T9kScheduler, a_group_is_placed_together_or_not_at_all) {
  Cluster cluster;
  cluster.node("n", 6);
  cluster.group("a", 4);
  cluster.group("b", 4);
  cluster.pods("a", 4, "default");
  cluster.pods("b", 4, "default");
  EXPECT_THAT(cluster.round(),
              ElementsAre("place_pod a-0", "place_pod a-1", "place_pod a-2", "place_pod a-3"));
  EXPECT_EQ(cluster.reason_of("a"), "PodGroupScheduled");
  EXPECT_EQ(cluster.reason_of("b"), "NotEnoughResources");
}

TEST(T9kScheduler, a_group_waits_for_its_members) {
  Cluster cluster;
  cluster.node("n", 6);
  cluster.group("a", 4);
  cluster.pods("a", 3, "default");
  EXPECT_THAT(cluster.round(), IsEmpty());
  EXPECT_EQ(cluster.reason_of("a"), "NotEnoughMembers");
}

TEST(T9kScheduler, beyond_the_least_each_goes_by_itself) {
  Cluster cluster;
  cluster.node("n", 3);
  cluster.group("a", 2);
  cluster.pods("a", 4, "default");
  EXPECT_THAT(cluster.round(), ElementsAre("place_pod a-0", "place_pod a-1", "place_pod a-2"));
}

TEST(T9kScheduler, one_that_was_lost_is_placed_alone) {
  Cluster cluster;
  cluster.node("n", 4);
  cluster.group("a", 4);
  cluster.pods("a", 3, "default", 1, "n");
  cluster.pod("a", 3, "default");
  EXPECT_THAT(cluster.round(), ElementsAre("place_pod a-3"));
}

TEST(T9kScheduler, queues_and_groups_go_by_priority) {
  Cluster cluster;
  cluster.node("n", 1);
  cluster.queue("low", 10);
  cluster.queue("high", 20);
  cluster.group("a", 1, 100);
  cluster.group("b", 1, 1);
  cluster.group("c", 1, 2);
  cluster.pods("a", 1, "low");
  cluster.pods("b", 1, "high");
  cluster.pods("c", 1, "high");
  EXPECT_THAT(cluster.round(), ElementsAre("place_pod c-0"));
}

TEST(T9kScheduler, of_equal_queues_the_one_that_has_less) {
  Cluster cluster;
  cluster.node("n", 3);
  cluster.queue("x", 1);
  cluster.queue("y", 1);
  for (const char* name : {"a", "b", "c"}) cluster.group(name, 1);
  cluster.pods("a", 1, "x", 2, "n");
  cluster.pods("b", 1, "x");
  cluster.pods("c", 1, "y");
  EXPECT_THAT(cluster.round(), ElementsAre("place_pod c-0"));
}

TEST(T9kScheduler, a_quota_is_of_all_pods_of_a_queue) {
  Cluster cluster;
  cluster.node("n", 10);
  cluster.queue("q", 0).spec.quota.emplace().requests = ResourceList{{"cpu", Quantity::of(3)}};
  cluster.group("a", 2);
  cluster.group("b", 2);
  cluster.pods("a", 2, "q");
  cluster.pods("b", 2, "q");
  EXPECT_THAT(cluster.round(), ElementsAre("place_pod a-0", "place_pod a-1"));
  EXPECT_EQ(cluster.reason_of("b"), "OverQuota");
}

TEST(T9kScheduler, nodes_that_a_queue_may_use) {
  Cluster cluster;
  cluster.node("m", 1);
  cluster.node("n", 1);
  cluster.queue("q", 0).spec.nodeSelector = StringMap{{"name", "n"}};
  cluster.group("a", 1);
  cluster.pods("a", 2, "q");
  const Plan plan = schedule(cluster.view, Time());
  ASSERT_EQ(cluster.round().size(), 1U);
  const auto placed = std::find_if(plan.steps.begin(), plan.steps.end(),
                                   [](const Step& step) { return step.rule == &rules::place_pod; });
  ASSERT_NE(placed, plan.steps.end());
  EXPECT_EQ(static_cast<const Binding&>(*placed->request->object).target.name, "n");
}

TEST(T9kScheduler, preempts_the_least_important_and_no_more_than_it_needs) {
  Cluster cluster;
  cluster.node("n", 4);
  cluster.queue("high", 50);
  cluster.queue("low", 10);
  cluster.group("a", 1, 5);
  cluster.group("b", 1, 1);
  cluster.group("c", 2);
  cluster.pods("a", 2, "low", 1, "n");
  cluster.pods("b", 2, "low", 1, "n");
  cluster.pods("c", 2, "high");
  EXPECT_THAT(cluster.round(), ElementsAre("preempt_pod b-1", "preempt_pod b-0"));
  for (auto& queue : cluster.view.queues)
    if (queue->metadata.name == "low") {
      auto kept = std::static_pointer_cast<T9kQueue>(queue->clone());
      kept->spec.preemptible = false;
      queue = kept;
    }
  EXPECT_THAT(cluster.round(), IsEmpty());
}

TEST(T9kScheduler, preempts_nobody_in_vain_or_while_somebody_leaves) {
  Cluster cluster;
  cluster.node("n", 2);
  cluster.queue("high", 50);
  cluster.group("a", 1);
  cluster.group("c", 3);
  Pod& first = cluster.pod("a", 0, "default", 1, "n");
  Pod& second = cluster.pod("a", 1, "default", 1, "n");
  cluster.pods("c", 3, "high");
  EXPECT_THAT(cluster.round(), IsEmpty());  // three never fit
  cluster.view.pods.pop_back();
  cluster.group("d", 1);
  cluster.view.groups.erase(cluster.view.groups.begin() + 1);
  first.metadata.deletionTimestamp = second.metadata.deletionTimestamp = Time(1h);
  EXPECT_THAT(cluster.round(), IsEmpty());  // room is being made
}

TEST(T9kScheduler, who_is_over_the_quota_preempts_nobody) {
  Cluster cluster;
  cluster.node("n", 2);
  cluster.queue("high", 50).spec.quota.emplace().requests = ResourceList{{"cpu", Quantity::of(0)}};
  cluster.group("a", 1);
  cluster.group("c", 1);
  cluster.pods("a", 2, "default", 1, "n");
  cluster.pods("c", 1, "high");
  EXPECT_THAT(cluster.round(), IsEmpty());
  EXPECT_EQ(cluster.reason_of("c"), "OverQuota");
}

TEST(T9kScheduler, pods_get_old) {
  Cluster cluster;
  cluster.node("n", 2);
  cluster.queue("q", 0).spec.maxDuration = "1m30s";
  cluster.group("a", 1);
  cluster.pod("a", 0, "q", 1, "n").status.rest.edit().startTime = Time(10s);
  EXPECT_THAT(cluster.round(Time(99s)), IsEmpty());
  EXPECT_EQ(schedule(cluster.view, Time(99s)).requeue_after, std::optional<Duration>(1s));
  EXPECT_THAT(cluster.round(Time(100s)), ElementsAre("end_old_pod a-0"));
}

TEST(T9kScheduler, durations_of_a_queue) {
  EXPECT_EQ(queue_duration("1h"), std::optional<Duration>(1h));
  EXPECT_EQ(queue_duration("1d12h"), std::optional<Duration>(36h));
  EXPECT_EQ(queue_duration("500ms"), std::optional<Duration>(500ms));
  EXPECT_EQ(queue_duration("2w"), std::optional<Duration>(336h));
  for (const char* text : {"", "1", "h", "1x", "1h-"}) EXPECT_FALSE(queue_duration(text)) << text;
}

TEST(T9kScheduler, a_closed_queue_takes_nothing) {
  T9kQueue queue;
  EXPECT_FALSE(refusal_of_queue("q", &queue));
  EXPECT_FALSE(refusal_of_queue("q", nullptr));
  queue.spec.closed = true;
  EXPECT_TRUE(refusal_of_queue("q", &queue));
}

}  // namespace
}  // namespace ddptwin::controller::t9k::scheduler_test
