#include "cluster/scheduler/preemption.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "cluster/pods/budgets.hpp"
#include "cluster/pods/disruption.hpp"

namespace ddptwin::scheduler {
namespace {

constexpr std::string_view not_helpful = "Preemption is not helpful for scheduling";
constexpr std::string_view no_victims = "No preemption victims found for incoming pod";

Time start_of(const Pod& pod) { return pod.status.rest->startTime.value_or(Time(Duration::max())); }

// Higher priority first, then who started first.
bool is_more_important(const PodInfo& a, const PodInfo& b) {
  return std::tuple(-std::int64_t{a.priority}, start_of(*a.pod), key_of(a.pod->metadata)) <
         std::tuple(-std::int64_t{b.priority}, start_of(*b.pod), key_of(b.pod->metadata));
}

bool is_being_preempted(const Pod& pod) {
  if (!pod.metadata.deletionTimestamp) return false;
  const auto* condition = pod.status.condition(disruption_target);
  return condition != nullptr && condition->status == "True" &&
         condition->reason == preempted_reason;
}

// Its earlier victims are still ending on the node it was promised.
bool waits_for_victims(const PodInfo& pod, const std::vector<NodeRefusal>& refusals,
                       const ClusterView& view) {
  const NodeInfo* node = view.find(pod.pod->status.rest->nominatedNodeName.str());
  if (node == nullptr) return false;
  const bool lost = std::any_of(refusals.begin(), refusals.end(), [&](const NodeRefusal& refused) {
    return refused.node == node && !refused.refusal.curable;
  });
  return !lost && std::any_of(node->pods.begin(), node->pods.end(), [&](const auto& placed) {
    return placed.second.priority < pod.priority && is_being_preempted(*placed.second.pod);
  });
}

struct Candidate {
  std::string node{};
  std::vector<PodInfo> victims{};
  std::size_t violations = 0;  // victims that a budget would have spared

  // Smaller is better.
  auto cost() const {
    std::int64_t highest = std::numeric_limits<std::int64_t>::min(), sum = 0;
    Time earliest(Duration::max());
    for (const PodInfo& victim : victims)
      highest = std::max<std::int64_t>(highest, victim.priority);
    for (const PodInfo& victim : victims) {
      sum += std::int64_t{victim.priority} - std::numeric_limits<std::int32_t>::min();
      if (victim.priority == highest) earliest = std::min(earliest, start_of(*victim.pod));
    }
    return std::tuple(violations, highest, sum, victims.size(), -earliest.since_epoch().count(),
                      node);
  }
};

// Those whose going would go beyond a budget, if all of `pods` went in their order (upstream:
// filterPodsWithPDBViolation); the others follow. How many of the first there are.
std::size_t put_guarded_first(std::vector<PodInfo>& pods, const std::vector<BudgetPtr>& budgets) {
  std::vector<std::int32_t> left;
  for (const BudgetPtr& budget : budgets) left.push_back(budget->status.disruptionsAllowed);
  const auto goes_beyond = [&](const PodInfo& info) {
    const Pod& pod = *info.pod;
    if (pod.metadata.labels.empty()) return false;
    bool beyond = false;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      // Whoever was evicted is off the budget already.
      if (!guards(*budgets[i], pod) ||
          budgets[i]->status.disruptedPods.contains(pod.metadata.name.view()))
        continue;
      if (--left[i] < 0) beyond = true;
    }
    return beyond;
  };
  std::vector<PodInfo> guarded, others;
  for (PodInfo& pod : pods) (goes_beyond(pod) ? guarded : others).push_back(std::move(pod));
  const std::size_t count = guarded.size();
  guarded.insert(guarded.end(), std::make_move_iterator(others.begin()),
                 std::make_move_iterator(others.end()));
  pods = std::move(guarded);
  return count;
}

// All lower ones are thought away, then put back as long as the pod still fits. An error is what
// the node says instead.
tl::expected<Candidate, std::vector<std::string>> victims_on(
    const PodInfo& pod, const NodeInfo& node, const ClusterView& view,
    const std::vector<BudgetPtr>& budgets) {
  Candidate candidate{.node = node.node->metadata.name.str()};
  std::vector<PodInfo> lower;
  for (const auto& [key, placed] : node.pods)
    if (placed.priority < pod.priority) lower.push_back(placed);
  if (lower.empty()) return tl::make_unexpected(std::vector{std::string(no_victims)});
  ClusterView tried = view;
  for (const PodInfo& placed : lower)
    tried.try_remove(candidate.node, key_of(placed.pod->metadata));
  const auto refusal = [&] {
    return refusal_with_nominated(pod, *tried.find(candidate.node), tried);
  };
  if (auto refused = refusal()) return tl::make_unexpected(std::move(refused->reasons));
  std::sort(lower.begin(), lower.end(), is_more_important);
  const std::size_t guarded = put_guarded_first(lower, budgets);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const PodInfo& placed = lower[i];
    tried.try_add(candidate.node, placed);
    if (!refusal()) continue;
    tried.try_remove(candidate.node, key_of(placed.pod->metadata));
    candidate.victims.push_back(placed);
    if (i < guarded) ++candidate.violations;
  }
  std::sort(candidate.victims.begin(), candidate.victims.end(), is_more_important);
  return candidate;
}

}  // namespace

Preemption preempt(const PodInfo& pod, const std::vector<NodeRefusal>& refusals,
                   const ClusterView& view, const std::vector<BudgetPtr>& budgets) {
  if (pod.pod->spec->preemptionPolicy == "Never")
    return {.text = "not eligible due to preemptionPolicy=Never.", .eligible = false};
  if (waits_for_victims(pod, refusals, view))
    return {.text = "not eligible due to a terminating pod on the nominated node.",
            .eligible = false};
  std::vector<std::string> reasons;
  std::optional<Candidate> best;
  for (const NodeRefusal& refused : refusals) {
    if (!refused.refusal.curable) {
      reasons.emplace_back(not_helpful);
      continue;
    }
    auto candidate = victims_on(pod, *refused.node, view, budgets);
    if (!candidate)
      reasons.insert(reasons.end(), candidate.error().begin(), candidate.error().end());
    else if (!best || candidate->cost() < best->cost())
      best = std::move(*candidate);
  }
  if (!best) return {.text = availability_text(refusals.size(), reasons)};
  Preemption preemption{.node = best->node};
  for (const PodInfo& victim : best->victims) preemption.victims.push_back(victim.pod);
  return preemption;
}

}  // namespace ddptwin::scheduler
