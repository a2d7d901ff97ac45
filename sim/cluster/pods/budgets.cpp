#include "cluster/pods/budgets.hpp"

#include <algorithm>

#include "objects/selector.hpp"

namespace ddptwin {
namespace {

struct Allowance {
  std::string_view status, reason;
};
Allowance allowance_of(const PodDisruptionBudget& budget) {
  return budget.status.disruptionsAllowed > 0 ? Allowance{"True", "SufficientPods"}
                                              : Allowance{"False", "InsufficientPods"};
}

const BudgetCondition* find_condition(const PodDisruptionBudget& budget, std::string_view type) {
  const auto& conditions = budget.status.conditions;
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [type](const BudgetCondition& one) { return one.type_ == type; });
  return found == conditions.end() ? nullptr : &*found;
}

bool selects(const PodDisruptionBudget& budget, const Pod& pod, bool empty_selects) {
  if (!budget.spec.selector || budget.metadata.namespace_ != pod.metadata.namespace_) return false;
  const auto matcher = LabelMatcher::from(*budget.spec.selector);
  if (!matcher) return false;
  return matcher->empty() ? empty_selects : matcher->matches(*pod.metadata.labels);
}

}  // namespace

bool is_about(const PodDisruptionBudget& budget, const Pod& pod) {
  return selects(budget, pod, true);
}
bool guards(const PodDisruptionBudget& budget, const Pod& pod) {
  return selects(budget, pod, false);
}

bool is_pod_ready(const Pod& pod) {
  const PodCondition* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

void set_condition(PodDisruptionBudget& budget, BudgetCondition condition, Time now) {
  const BudgetCondition* said = find_condition(budget, condition.type_);
  const bool stays = said != nullptr && said->status == condition.status;
  condition.lastTransitionTime = stays ? said->lastTransitionTime : now.floor_seconds();
  auto& conditions = budget.status.conditions;
  if (said == nullptr)
    conditions.push_back(std::move(condition));
  else
    conditions[static_cast<std::size_t>(said - conditions.data())] = std::move(condition);
}

void tell_whether_allowed(PodDisruptionBudget& budget, Time now) {
  const Allowance allowed = allowance_of(budget);
  set_condition(budget,
                {.type_ = std::string(disruption_allowed),
                 .status = std::string(allowed.status),
                 .observedGeneration = budget.status.observedGeneration,
                 .reason = std::string(allowed.reason)},
                now);
}

bool is_told_whether_allowed(const PodDisruptionBudget& budget) {
  const BudgetCondition* said = find_condition(budget, disruption_allowed);
  const Allowance allowed = allowance_of(budget);
  return said != nullptr && said->observedGeneration == budget.status.observedGeneration &&
         said->status == allowed.status && said->reason == allowed.reason;
}

}  // namespace ddptwin
