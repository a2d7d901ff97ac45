// Whom budgets spare (spec/kubernetes.md §3.4; the recording sched-preemption-spares-pdb).
#include <gtest/gtest.h>

#include "cluster/scheduler/preemption.hpp"
#include "cluster/scheduler/test_shapes.hpp"

namespace ddptwin::scheduler::preemption_budget_test {
namespace {

using namespace test;

struct Budgets : testing::Test {
  ClusterView view;
  std::vector<BudgetPtr> budgets;

  // Node, then victims.
  std::string preempting(const std::string& cpu) {
    const PodInfo info(pod("p", {{"cpu", cpu}}, 10));
    const Preemption preemption = preempt(info, decide(info, view).refusals, view, budgets);
    std::string text = preemption.node;
    for (const PodPtr& victim : preemption.victims) text += " " + victim->metadata.name.str();
    return text;
  }
  void place(const std::string& node, const std::string& name, const char* app, int started,
             std::int32_t priority = 1) {
    auto object = placed(pod(name, {{"cpu", "2"}}, priority), node);
    object->metadata.labels.edit()["app"] = app;
    object->status.rest.edit().startTime = Time(std::chrono::seconds(started));
    view.put_pod(object);
  }
  PodDisruptionBudget& budget(const char* app, std::int32_t allowed) {
    auto made = std::make_shared<PodDisruptionBudget>();
    made->metadata.namespace_ = "default";
    made->spec.selector.emplace().matchLabels = StringMap{{"app", app}};
    made->status.disruptionsAllowed = allowed;
    budgets.push_back(made);
    return *made;
  }
};

TEST_F(Budgets, whoever_they_guard_is_put_back_first) {
  view.put_node(node("n", {{"cpu", "4"}}));
  place("n", "young", "guarded", 9);
  place("n", "old", "free", 1);
  EXPECT_EQ(preempting("2"), "n young");
  budget("guarded", 0);
  EXPECT_EQ(preempting("2"), "n old");
  EXPECT_EQ(preempting("4"), "n old young");
}

TEST_F(Budgets, one_may_go_where_one_is_allowed) {
  view.put_node(node("n", {{"cpu", "4"}}));
  place("n", "young", "guarded", 9);
  place("n", "old", "guarded", 1);
  budget("guarded", 1);
  // The first to be looked at is the allowed one; the other is put back before it.
  EXPECT_EQ(preempting("2"), "n old");
}

TEST_F(Budgets, whoever_was_evicted_is_off_the_budget) {
  view.put_node(node("n", {{"cpu", "4"}}));
  place("n", "young", "guarded", 9);
  place("n", "old", "free", 1);
  budget("guarded", 0).status.disruptedPods["young"] = Time();
  EXPECT_EQ(preempting("2"), "n young");
}

TEST_F(Budgets, a_node_that_violates_none_comes_before_lower_priorities) {
  view.put_node(node("a", {{"cpu", "2"}}));
  view.put_node(node("b", {{"cpu", "2"}}));
  place("a", "low", "guarded", 1, 1);
  place("b", "high", "free", 1, 5);
  EXPECT_EQ(preempting("2"), "a low");
  budget("guarded", 0);
  EXPECT_EQ(preempting("2"), "b high");
}

}  // namespace
}  // namespace ddptwin::scheduler::preemption_budget_test
