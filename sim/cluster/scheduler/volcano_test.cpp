// Sessions of Volcano's scheduler: who is let in, who is bound, and what is said of the rest.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster/scheduler/test_shapes.hpp"
#include "cluster/scheduler/volcano_session.hpp"

namespace ddptwin::scheduler::volcano::volcano_test {
namespace {

using namespace scheduler::test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class Cluster {
 public:
  Cluster() { view.queues.emplace("default", queue("default")); }

  static std::shared_ptr<VolcanoQueue> queue(
      const std::string& name, const std::map<std::string, std::string>& capability = {}) {
    auto made = std::make_shared<VolcanoQueue>();
    made->metadata.name = name;
    VolcanoQueueSpec spec;
    if (!capability.empty()) spec.capability = amounts(capability);
    made->spec = std::move(spec);
    return made;
  }
  void add_node(const std::string& name, const std::string& cpu) {
    view.cluster.put_node(node(name, {{"cpu", cpu}}));
  }
  void add_group(const std::string& name, int least, const std::string& phase = "",
                 const std::map<std::string, std::string>& resources = {},
                 const std::string& queue = "default") {
    auto made = std::make_shared<VolcanoGroup>();
    made->metadata.namespace_ = "default";
    made->metadata.name = name;
    made->metadata.creationTimestamp = Time(std::chrono::seconds(++made_));
    VolcanoGroupSpec spec;
    spec.minMember = least;
    spec.queue = queue;
    if (!resources.empty()) spec.minResources = amounts(resources);
    made->spec = std::move(spec);
    if (!phase.empty()) made->status = VolcanoGroupStatus{.phase = phase};
    view.groups.push_back(made);
  }
  std::shared_ptr<Pod> add_pod(const std::string& group, const std::string& name,
                               const std::string& cpu = "1", const std::string& on = "") {
    auto made = pod(name, {{"cpu", cpu}});
    made->spec.edit().rest.edit().schedulerName = "volcano";
    made->metadata.annotations.edit().emplace("scheduling.k8s.io/group-name", group);
    made->metadata.creationTimestamp = Time(std::chrono::seconds(++made_));
    made->spec.edit().nodeName = on;
    made->status.phase = on.empty() ? "Pending" : "Running";
    view.pods.push_back(made);
    if (!on.empty()) view.cluster.put_pod(made);
    return made;
  }

  std::vector<std::string> bound() const {
    std::vector<std::string> told;
    for (const auto& one : run_session(view).bindings)
      told.push_back(fmt::format("{} {}", one.pod->metadata.name.view(), one.node));
    return told;
  }
  std::string phase(const std::string& group) const {
    for (const auto& one : run_session(view).groups)
      if (one->metadata.name == group) return one->status->phase;
    return "as before";
  }
  std::vector<std::string> events() const {
    std::vector<std::string> told;
    const Outcome outcome = run_session(view);
    for (const auto* some : {&outcome.refusals, &outcome.events})
      for (const auto& one : *some)
        told.push_back(
            fmt::format("{} {}: {}", one.group->metadata.name.view(), one.reason, one.message));
    return told;
  }
  std::vector<std::string> waiting() const {
    std::vector<std::string> told;
    for (const auto& one : run_session(view).waiting)
      told.push_back(
          fmt::format("{} {}: {}", one.pod->metadata.name.view(), one.reason, one.message));
    return told;
  }

  SessionView view{};

 private:
  int made_ = 0;
};

TEST(VolcanoSession, a_gang_is_let_in_and_bound_in_one_session) {
  Cluster cluster;
  cluster.add_node("n", "3");
  cluster.add_group("g", 3);
  for (const char* name : {"a", "b", "c"}) cluster.add_pod("g", name);
  EXPECT_THAT(cluster.bound(), ElementsAre("a n", "b n", "c n"));
  EXPECT_EQ(cluster.phase("g"), "Running");
  EXPECT_THAT(cluster.events(), ElementsAre("g Scheduled: pod group is ready"));
}

TEST(VolcanoSession, a_gang_that_fits_in_part_is_not_bound_at_all) {
  Cluster cluster;
  cluster.add_node("n", "2");
  cluster.add_group("g", 3);
  for (const char* name : {"a", "b", "c"}) cluster.add_pod("g", name);
  EXPECT_THAT(cluster.bound(), IsEmpty());
  EXPECT_EQ(cluster.phase("g"), "Inqueue");
  const std::string fit =
      "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 Unschedulable, 2 Schedulable. "
      "Origin reason is c: 0/1 nodes are unavailable: 1 Insufficient cpu.";
  EXPECT_THAT(cluster.events(),
              ElementsAre("g Unschedulable: 3/3 tasks in gang unschedulable: " + fit));
  EXPECT_THAT(cluster.waiting(),
              ElementsAre("a Schedulable: Pod default/a can possibly be assigned to n, once "
                          "minAvailable is satisfied",
                          "b Schedulable: Pod default/b can possibly be assigned to n, once "
                          "minAvailable is satisfied",
                          "c Unschedulable: 0/1 nodes are unavailable: 1 Insufficient cpu."));
  const auto written = run_session(cluster.view).groups;
  ASSERT_EQ(written.size(), 1);
  ASSERT_EQ(written.front()->status->conditions.size(), 1);
  EXPECT_EQ(written.front()->status->conditions.front().type_, "Unschedulable");
  EXPECT_EQ(written.front()->status->conditions.front().reason, "NotEnoughResources");
  EXPECT_EQ(written.front()->status->conditions.front().message,
            "1/3 tasks in gang unschedulable: " + fit);
}

TEST(VolcanoSession, what_is_said_already_is_not_written_again) {
  Cluster cluster;
  cluster.add_node("n", "2");
  cluster.add_group("g", 3);
  for (const char* name : {"a", "b", "c"}) cluster.add_pod("g", name);
  cluster.view.groups.front() = run_session(cluster.view).groups.front();
  cluster.view.id = "another";
  cluster.view.now = Time(1h);
  EXPECT_THAT(run_session(cluster.view).groups, IsEmpty());
}

TEST(VolcanoSession, a_job_that_waits_takes_nothing_from_the_next) {
  Cluster cluster;
  cluster.add_node("n", "2");
  cluster.add_group("large", 3);
  for (const char* name : {"a", "b", "c"}) cluster.add_pod("large", name);
  cluster.add_group("small", 2);
  for (const char* name : {"d", "e"}) cluster.add_pod("small", name);
  EXPECT_THAT(cluster.bound(), ElementsAre("d n", "e n"));
}

TEST(VolcanoSession, what_the_cluster_could_never_hold_is_not_let_in) {
  Cluster cluster;
  cluster.add_node("n", "2");
  cluster.add_group("g", 3, "", {{"cpu", "3"}});
  EXPECT_EQ(cluster.phase("g"), "Pending");
  EXPECT_THAT(cluster.events(),
              ElementsAre("g Unschedulable: resource in cluster is overused: overused cpu",
                          "g Unschedulable: 0/0 tasks in gang unschedulable: pod group is not "
                          "ready, 3 minAvailable"));
}

TEST(VolcanoSession, a_fifth_more_than_there_is_may_enter) {
  Cluster cluster;
  cluster.add_node("n", "10");
  cluster.add_group("first", 1, "", {{"cpu", "9"}});
  cluster.add_group("second", 1, "", {{"cpu", "3"}});
  cluster.add_group("third", 1, "", {{"cpu", "1"}});
  EXPECT_EQ(cluster.phase("first"), "Inqueue");
  EXPECT_EQ(cluster.phase("second"), "Inqueue");
  EXPECT_EQ(cluster.phase("third"), "Pending") << "those that were let in take room";
}

TEST(VolcanoSession, a_queue_gives_what_it_may) {
  Cluster cluster;
  cluster.add_node("n", "10");
  cluster.view.queues.emplace("small", Cluster::queue("small", {{"cpu", "2"}}));
  cluster.add_group("g", 3, "", {{"cpu", "3"}}, "small");
  EXPECT_THAT(cluster.events(),
              Contains("g Unschedulable: queue resource quota insufficient: insufficient cpu"));
  cluster.view.groups.clear();
  cluster.add_group("h", 1, "Inqueue", {}, "small");
  for (const char* name : {"a", "b", "c"}) cluster.add_pod("h", name);
  EXPECT_THAT(cluster.bound(), ElementsAre("a n", "b n"));
}

TEST(VolcanoSession, without_its_queue_a_group_is_not_looked_at) {
  Cluster cluster;
  cluster.add_node("n", "10");
  cluster.add_group("g", 1, "", {}, "none");
  cluster.add_pod("g", "a");
  EXPECT_THAT(cluster.bound(), IsEmpty());
  EXPECT_THAT(cluster.events(), IsEmpty());
}

TEST(VolcanoSession, running_pods_of_a_gang_that_lost_one_are_in_phase_unknown) {
  Cluster cluster;
  cluster.add_node("n", "2");
  cluster.add_group("g", 3, "Running");
  cluster.add_pod("g", "a", "1", "n");
  cluster.add_pod("g", "b", "1", "n");
  cluster.add_pod("g", "c");
  EXPECT_EQ(cluster.phase("g"), "Unknown");
}

TEST(VolcanoSession, who_leaves_makes_room_that_is_kept) {
  Cluster cluster;
  cluster.add_node("n", "2");
  cluster.add_group("g", 2);
  cluster.add_pod("g", "a");
  cluster.add_pod("g", "b");
  const auto tenant = placed(pod("tenant", {{"cpu", "2"}}), "n");
  tenant->metadata.deletionTimestamp = Time(1s);
  cluster.view.pods.push_back(tenant);
  cluster.view.cluster.put_pod(tenant);
  EXPECT_THAT(cluster.bound(), IsEmpty());
  EXPECT_THAT(
      cluster.waiting(),
      Contains("a Unschedulable: Pod default/a can possibly be assigned to n, once resource "
               "is released and minAvailable is satisfied"));
}

TEST(VolcanoSession, when_all_have_ended_the_group_is_completed) {
  Cluster cluster;
  cluster.add_node("n", "2");
  cluster.add_group("g", 1, "Running");
  cluster.add_pod("g", "a", "1", "n")->status.phase = "Succeeded";
  EXPECT_EQ(cluster.phase("g"), "Completed");
}

}  // namespace
}  // namespace ddptwin::scheduler::volcano::volcano_test
