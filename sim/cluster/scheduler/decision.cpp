#include "cluster/scheduler/decision.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/scheduler/score.hpp"

namespace ddptwin::scheduler {

std::optional<Refusal> refusal_with_nominated(const PodInfo& pod, const NodeInfo& node,
                                              const ClusterView& view) {
  const Text& name = node.node->metadata.name;
  std::vector<PodInfoPtr> before = view.nominated_to(name, pod);
  std::erase_if(before, [&](const PodInfoPtr& other) { return other->priority < pod.priority; });
  if (!before.empty()) {
    ClusterView promised = view;
    for (const PodInfoPtr& other : before) promised.try_add(name.str(), *other);
    if (auto refusal = refusal_of(pod, *promised.find(name.str()), promised)) return refusal;
  }
  return refusal_of(pod, node, view);
}

namespace {

// For a plain pod one node of each class speaks for all of them. Nothing: none fits.
std::string best_of_classes(const PodInfo& pod, const ClusterView& view) {
  std::string best;
  std::int64_t most = -1;
  for (const auto& [key, names] : view.classes()) {
    const std::string& first = *names.begin();
    const NodeInfo& node = *view.find(first);
    if (refusal_of(pod, node, view)) continue;
    const std::int64_t points = score(pod, node);
    if (points < most || (points == most && best < first)) continue;
    most = points;
    best = first;
  }
  return best;
}

}  // namespace

Decision decide(const PodInfo& pod, const ClusterView& view) {
  Decision decision;
  if (!pod.needs->claims.empty()) {
    decision.rejected = refusal_of_claims(*pod.pod, view.volumes());
    if (!decision.rejected.empty()) {
      for (const NodeInfo* node : view.nodes())
        decision.refusals.push_back({node, {.filter = volume_binding}});
      return decision;
    }
  }
  const std::string nominated = pod.pod->status.rest->nominatedNodeName.str();
  if (const NodeInfo* node = view.find(nominated); node != nullptr)
    if (!refusal_with_nominated(pod, *node, view)) return {.node = nominated};
  if (pod.needs->plain && view.is_plain()) {
    decision.node = best_of_classes(pod, view);
    if (!decision.node.empty()) return decision;
  }
  std::int64_t best = -1;
  for (const NodeInfo* node : view.nodes()) {
    if (auto refusal = refusal_with_nominated(pod, *node, view)) {
      decision.refusals.push_back({node, std::move(*refusal)});
      continue;
    }
    const std::int64_t points = score(pod, *node);
    if (points <= best) continue;
    best = points;
    decision.node = node->node->metadata.name;
  }
  return decision;
}

std::vector<std::string> reasons_of(const std::vector<NodeRefusal>& refusals) {
  std::vector<std::string> reasons;
  for (const NodeRefusal& refused : refusals)
    reasons.insert(reasons.end(), refused.refusal.reasons.begin(), refused.refusal.reasons.end());
  return reasons;
}

std::string availability_text(std::size_t nodes, const std::vector<std::string>& reasons) {
  std::map<std::string, int> counts;
  for (const std::string& reason : reasons) ++counts[reason];
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(fmt::format("{} {}", count, reason));
  std::sort(parts.begin(), parts.end());
  return fmt::format("0/{} nodes are available: {}.", nodes, fmt::join(parts, ", "));
}

std::string availability_text(const Decision& decision) {
  const std::size_t nodes = decision.refusals.size();
  return decision.rejected.empty()
             ? availability_text(nodes, reasons_of(decision.refusals))
             : fmt::format("0/{} nodes are available: {}.", nodes, decision.rejected);
}

}  // namespace ddptwin::scheduler
