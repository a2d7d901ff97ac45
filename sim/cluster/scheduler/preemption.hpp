// Whom a pod of higher priority may push aside. Pure (spec/kubernetes.md §3.4).
#pragma once

#include "cluster/scheduler/decision.hpp"
#include "objects/disruption_budget.hpp"

namespace ddptwin::scheduler {

// Of the victims' condition DisruptionTarget.
inline constexpr std::string_view preempted_reason = "PreemptionByScheduler";

struct Preemption {
  std::string node{};             // empty: nobody can be pushed aside
  std::vector<PodPtr> victims{};  // most important first
  std::string text{};             // what the message's tail says where there is no node
  bool eligible = true;           // false: it may not even try, and keeps what it was promised
};

using BudgetPtr = std::shared_ptr<const PodDisruptionBudget>;

// The node where the least is lost: the fewest victims that a budget would have spared, the lowest
// of the highest priorities among its victims, then the smallest sum of priorities, the fewest
// victims, the latest start of the most important ones, the first name. A budget only orders the
// choice: who is spared first.
Preemption preempt(const PodInfo& pod, const std::vector<NodeRefusal>& refusals,
                   const ClusterView& view, const std::vector<BudgetPtr>& budgets = {});

}  // namespace ddptwin::scheduler
