// policy/v1 PodDisruptionBudget: how many of some pods may be down at a time by somebody's will
// (spec/kubernetes.md §3.6).
#pragma once

#include "objects/pod_spec.hpp"

namespace ddptwin {

// metav1.Condition.
struct BudgetCondition {
  std::string type_{};
  std::string status{};
  std::int64_t observedGeneration = 0;
  OptionalTime lastTransitionTime{};
  std::string reason{};
  std::string message{};
  static const Type& type();
};
struct PodDisruptionBudgetSpec {
  std::optional<IntOrString> minAvailable{};
  std::optional<LabelSelector> selector{};
  std::optional<IntOrString> maxUnavailable{};
  std::optional<std::string> unhealthyPodEvictionPolicy{};
  static const Type& type();
};
struct PodDisruptionBudgetStatus {
  using Disrupted = std::map<std::string, Time, std::less<>>;
  std::int64_t observedGeneration = 0;
  Disrupted disruptedPods{};  // evicted, and not yet seen to end; by name
  std::int32_t disruptionsAllowed = 0;
  std::int32_t currentHealthy = 0;
  std::int32_t desiredHealthy = 0;
  std::int32_t expectedPods = 0;
  std::vector<BudgetCondition> conditions{};
  static const Type& type();
};
struct PodDisruptionBudget final : ObjectOf<PodDisruptionBudget> {
  PodDisruptionBudgetSpec spec{};
  PodDisruptionBudgetStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
