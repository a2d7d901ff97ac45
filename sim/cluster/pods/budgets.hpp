// What eviction, the scheduler and the disruption controller know of PodDisruptionBudgets
// (spec/kubernetes.md §3.6).
#pragma once

#include <string_view>

#include "objects/core_v1.hpp"
#include "objects/disruption_budget.hpp"

namespace ddptwin {

// Whether the budget is about pods of these labels in its namespace. One without a selector is
// about none; an empty selector, about all (policy/v1).
bool is_about(const PodDisruptionBudget& budget, const Pod& pod);
// The same for who may take a pod away, to whom an empty selector says nothing (upstream:
// eviction.go and the scheduler's default preemption).
bool guards(const PodDisruptionBudget& budget, const Pod& pod);
// Whether its condition Ready is True.
bool is_pod_ready(const Pod& pod);
// The condition DisruptionAllowed, as status.disruptionsAllowed has it.
void tell_whether_allowed(PodDisruptionBudget& budget, Time now);
bool is_told_whether_allowed(const PodDisruptionBudget& budget);
// Puts the condition there, in its place or as a new one; its time is that of the status' change.
void set_condition(PodDisruptionBudget& budget, BudgetCondition condition, Time now);

inline constexpr std::string_view disruption_allowed = "DisruptionAllowed";
// Of the condition, where the controller does not know how many pods there should be.
inline constexpr std::string_view sync_failed = "SyncFailed";

}  // namespace ddptwin
