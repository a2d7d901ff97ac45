// Whom NoExecute taints evict, when, and with which words (spec/kubernetes.md §2.12).
#include "controller/manager/taint_eviction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

#include "controller/manager/manager_test_fixture.hpp"

namespace ddptwin::taint_eviction_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using manager_test::start;

Toleration tolerates(std::string key, std::optional<std::int64_t> seconds = std::nullopt,
                     std::string value = "yes") {
  return {std::move(key), "Equal", std::move(value), "NoExecute", seconds};
}

Taint taint(std::string key, std::string effect = "NoExecute") {
  return {std::move(key), "yes", std::move(effect), std::nullopt};
}

// One node, "n", and pods on it that no kubelet runs: a deletion leaves them Terminating.
struct Fixture : manager_test::ManagerWorld {
  TaintEviction eviction{loop, client, informers};

  Fixture() {
    auto node = std::make_shared<Node>();
    node->metadata.name = "n";
    must(api::create(node));
    eviction.start();
    run(1s);
  }
  void pod(std::string name, std::vector<Toleration> tolerations = {}) {
    auto made = std::make_shared<Pod>();
    made->metadata.name = std::move(name);
    made->metadata.namespace_ = "default";
    PodSpec& spec = made->spec.edit();
    spec.nodeName = "n";
    spec.containers = {{.name = "c", .image = "i"}};
    spec.tolerations = std::move(tolerations);
    must(api::create(made));
  }
  void set_taints(std::vector<Taint> taints) {
    auto node = std::static_pointer_cast<Node>(store.find(Node::info(), {}, "n")->clone());
    node->spec.taints = std::move(taints);
    must(api::update(node));
    run(100ms);
  }
  void remove_now(const std::string& name) {
    api::DeleteOptions now;
    now.grace_period_seconds = 0;
    must(api::remove(*find(name), now));
    run(100ms);
  }
  std::shared_ptr<const Pod> find(std::string_view name) const {
    return store.find<Pod>("default", name);
  }
  bool leaves(std::string_view name) const {
    return find(name)->metadata.deletionTimestamp.has_value();
  }
  // "pod xN: message" in the order of the pods' names.
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (const auto& [key, object] : store.objects(Event::info())) {
      const auto& event = static_cast<const Event&>(*object);
      EXPECT_EQ(event.type_, "Normal");
      EXPECT_EQ(event.reason, "TaintManagerEviction");
      EXPECT_EQ(event.rest->source.component, "taint-eviction-controller");
      all.push_back(
          fmt::format("{} x{}: {}", event.involvedObject->name, event.count, event.message));
    }
    return all;
  }
};

TEST(TolerationOf, the_shortest_of_those_used_counts) {
  struct Row {
    const char* name;
    std::vector<Toleration> tolerations;
    std::vector<Taint> taints;
    Tolerance tolerance;
  };
  const Tolerance none{.all_tolerated = false};
  const Row rows[] = {
      {"none", {}, {taint("a")}, none},
      {"another value", {tolerates("a", 5, "no")}, {taint("a")}, none},
      {"for ever", {tolerates("a")}, {taint("a")}, {}},
      {"for a while", {tolerates("a", 5)}, {taint("a")}, {.lasts = 5s}},
      {"less than nothing", {tolerates("a", -1)}, {taint("a")}, {.lasts = 0s}},
      {"one of two", {tolerates("a", 5)}, {taint("a"), taint("b")}, none},
      {"both", {tolerates("a", 5), tolerates("b", 3)}, {taint("a"), taint("b")}, {.lasts = 3s}},
      {"one of both for ever",
       {tolerates("a"), tolerates("b", 3)},
       {taint("a"), taint("b")},
       {.lasts = 3s}},
      {"the first that matches", {tolerates("a"), tolerates("a", 3)}, {taint("a")}, {}},
      {"those of no taint", {tolerates("a"), tolerates("b", 3)}, {taint("a")}, {}},
  };
  for (const Row& row : rows) {
    PodSpec spec;
    spec.tolerations = row.tolerations;
    EXPECT_EQ(tolerance_of(spec, row.taints), row.tolerance) << row.name;
  }
  PodSpec longest;
  longest.tolerations = {tolerates("a", std::numeric_limits<std::int64_t>::max())};
  EXPECT_GT(tolerance_of(longest, {taint("a")}).lasts, Duration(std::chrono::hours(24 * 365)));
}

// [G:taint-noexecute-by-hand]
TEST(TaintEviction, evicts_at_once_later_or_never) {
  Fixture f;
  f.pod("always", {tolerates("maint")});
  f.pod("none");
  f.pod("three", {tolerates("maint", 3)});
  f.pod("wrong", {tolerates("maint", std::nullopt, "no")});
  f.set_taints({taint("maint", "NoSchedule")});
  f.run(10s);
  for (const char* name : {"always", "none", "three", "wrong"}) EXPECT_FALSE(f.leaves(name));
  EXPECT_EQ(f.client.calls[&Pod::info()], 0);  // nobody looks at pods yet
  f.set_taints({taint("maint")});
  EXPECT_TRUE(f.leaves("none"));
  EXPECT_TRUE(f.leaves("wrong"));
  f.run(2800ms);
  EXPECT_FALSE(f.leaves("three"));
  f.run(200ms);
  EXPECT_TRUE(f.leaves("three"));
  f.run(1h);
  EXPECT_FALSE(f.leaves("always"));
  EXPECT_THAT(f.events(), ElementsAre("none x1: Marking for deletion Pod default/none",
                                      "three x1: Marking for deletion Pod default/three",
                                      "wrong x1: Marking for deletion Pod default/wrong"));
  f.pod("late");
  f.run(100ms);
  EXPECT_TRUE(f.leaves("late"));
}

TEST(TaintEviction, says_why_before_it_deletes) {
  Fixture f;
  f.pod("p");
  f.set_taints({taint("maint")});
  const auto pod = f.find("p");
  EXPECT_EQ(pod->metadata.deletionGracePeriodSeconds, 30);
  const PodCondition* said = pod->status.condition("DisruptionTarget");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->status, "True");
  EXPECT_EQ(said->reason, "DeletionByTaintManager");
  EXPECT_EQ(said->message, "Taint manager: deleting due to NoExecute taint");
  EXPECT_EQ(said->observedGeneration, 1);
}

TEST(TaintEviction, a_taint_that_goes_in_time_evicts_nobody) {
  Fixture f;
  f.pod("p", {tolerates("maint", 5)});
  f.pod("free", {tolerates("maint")});
  f.set_taints({taint("maint")});
  f.run(4s);
  f.set_taints({});
  f.run(1h);
  EXPECT_FALSE(f.leaves("p"));
  EXPECT_THAT(f.events(), ElementsAre("p x1: Cancelling deletion of Pod default/p"));
  f.set_taints({taint("maint")});
  f.run(4s);
  EXPECT_FALSE(f.leaves("p"));
  f.run(1s);
  EXPECT_TRUE(f.leaves("p"));
}

TEST(TaintEviction, a_time_that_runs_is_kept_until_a_taint_is_not_tolerated) {
  Fixture f;
  f.pod("p", {tolerates("a", 60), tolerates("b", 20)});
  f.pod("q", {tolerates("a", 60)});
  f.pod("r", {tolerates("a", 60), tolerates("b")});
  f.pod("s", {tolerates("a", 60), tolerates("b", 0)});
  f.set_taints({taint("a")});
  f.run(10s);
  f.set_taints({taint("a"), taint("b")});
  EXPECT_TRUE(f.leaves("q"));
  EXPECT_FALSE(f.leaves("p"));
  f.run(45s);  // not twenty from the second taint on: a minute from the first
  EXPECT_FALSE(f.leaves("p"));
  EXPECT_FALSE(f.leaves("s"));
  EXPECT_FALSE(f.leaves("r"));
  f.set_taints({taint("b")});  // that r tolerates for ever
  f.run(6s);
  EXPECT_TRUE(f.leaves("p"));
  f.run(1h);
  EXPECT_FALSE(f.leaves("r"));
}

TEST(TaintEviction, who_has_been_evicted_is_not_evicted_again) {
  Fixture f;
  f.pod("p", {tolerates("a", 5), tolerates("b", 5)});
  f.set_taints({taint("a")});
  f.run(6s);
  f.set_taints({taint("a"), taint("b")});  // it hangs there: nobody runs it
  f.run(10s);
  f.set_taints({});
  f.run(10s);
  EXPECT_THAT(f.events(), ElementsAre("p x1: Marking for deletion Pod default/p"));
}

TEST(TaintEviction, a_crash_forgets_the_times_and_a_start_begins_them_anew) {
  Fixture f;
  f.pod("p", {tolerates("a", 60)});
  f.set_taints({taint("a")});
  f.run(50s);
  f.eviction.crash();
  f.run(1h);
  EXPECT_FALSE(f.leaves("p"));
  f.eviction.start();
  f.run(50s);
  EXPECT_FALSE(f.leaves("p"));
  f.run(11s);
  EXPECT_TRUE(f.leaves("p"));
}

TEST(TaintEviction, a_pod_that_goes_by_itself_is_not_waited_for) {
  Fixture f;
  f.pod("p", {tolerates("maint", 5)});
  f.set_taints({taint("maint")});
  f.remove_now("p");
  f.pod("p", {tolerates("maint", 60)});
  f.run(30s);
  EXPECT_FALSE(f.leaves("p"));
  f.run(31s);
  EXPECT_TRUE(f.leaves("p"));
}

TEST(TaintEviction, a_refused_status_is_written_again_a_few_times) {
  Fixture f;
  f.pod("p");
  f.client.refusals[&Pod::info()] = 4;
  f.set_taints({taint("maint")});
  EXPECT_TRUE(f.leaves("p"));
  EXPECT_THAT(f.events(), ElementsAre("p x1: Marking for deletion Pod default/p"));
  f.pod("q");
  f.client.refusals[&Pod::info()] = 5;
  f.run(1h);
  EXPECT_FALSE(f.leaves("q"));
  EXPECT_EQ(f.find("q")->status.condition("DisruptionTarget"), nullptr);
}

TEST(TaintEviction, a_pod_that_is_gone_harms_nobody) {
  Fixture f;
  f.pod("p");
  f.client.refusals[&Pod::info()] = 1;
  auto node = std::static_pointer_cast<Node>(f.store.find(Node::info(), {}, "n")->clone());
  node->spec.taints = {taint("maint")};
  f.must(api::update(node));
  f.run(5ms);  // the status was refused, and is not yet written again
  EXPECT_EQ(f.client.refusals[&Pod::info()], 0);
  f.remove_now("p");
  f.run(1h);
  EXPECT_EQ(f.find("p"), nullptr);
}

TEST(TaintEviction, a_new_process_begins_from_the_taints_there_are) {
  Fixture f;
  f.pod("p", {tolerates("maint", 60)});
  f.set_taints({taint("maint")});
  f.run(50s);
  f.eviction.crash();
  f.run(20s);
  EXPECT_FALSE(f.leaves("p"));
  f.pod("q");
  f.eviction.start();
  f.run(1s);
  EXPECT_TRUE(f.leaves("q"));
  f.run(58s);
  EXPECT_FALSE(f.leaves("p"));
  f.run(2s);
  EXPECT_TRUE(f.leaves("p"));
}

TEST(TaintEviction, without_such_taints_nobody_looks_at_pods) {
  Fixture f;
  f.pod("p");
  f.set_taints({taint("maint", "NoSchedule"), taint("other", "PreferNoSchedule")});
  f.run(1h);
  EXPECT_EQ(f.client.calls[&Pod::info()], 0);
  EXPECT_FALSE(f.leaves("p"));
  EXPECT_THAT(f.events(), IsEmpty());
}

}  // namespace
}  // namespace ddptwin::taint_eviction_test
