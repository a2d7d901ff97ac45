#include "cluster/scheduler/score.hpp"

#include <algorithm>
#include <array>

#include "cluster/scheduler/matching.hpp"

namespace ddptwin::scheduler {
namespace {

constexpr std::int64_t points_max = 100;

std::int64_t points_for_room(const Node& node, std::string_view resource, std::int64_t used) {
  const auto has = node.status.allocatable.find(resource);
  if (has == node.status.allocatable.end() || has->second.zero()) return 0;
  const std::int64_t allocatable = has->second.milli_value();
  if (used >= allocatable) return 0;
  return static_cast<std::int64_t>(static_cast<int128>(allocatable - used) * points_max /
                                   allocatable);
}

std::int64_t least_allocated(const PodInfo& pod, const NodeInfo& node) {
  return (points_for_room(*node.node, "cpu", node.score_cpu + pod.needs->score_cpu) +
          points_for_room(*node.node, "memory", node.score_memory + pod.needs->score_memory)) /
         2;
}

std::int64_t preferred_affinity(const PodInfo& pod, const NodeInfo& node) {
  const auto& affinity = pod.pod->spec->affinity;
  if (!affinity || !affinity->nodeAffinity) return 0;
  std::int64_t matched = 0, all = 0;
  for (const auto& term : affinity->nodeAffinity->preferredDuringSchedulingIgnoredDuringExecution) {
    all += term.weight;
    if (matches(term.preference, *node.node)) matched += term.weight;
  }
  return all == 0 ? 0 : matched * points_max / all;
}

std::int64_t untainted(const PodInfo& pod, const NodeInfo& node) {
  const auto& taints = node.node->spec.taints;
  const auto disliked = std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
    return taint.effect == "PreferNoSchedule" && !tolerates(*pod.pod->spec, taint);
  });
  return points_max / (1 + disliked);
}

struct Scorer {
  std::int64_t weight;
  std::int64_t (*points)(const PodInfo&, const NodeInfo&);
};
constexpr std::array scorers{Scorer{1, least_allocated}, Scorer{2, preferred_affinity},
                             Scorer{3, untainted}};

}  // namespace

std::int64_t score(const PodInfo& pod, const NodeInfo& node) {
  std::int64_t sum = 0;
  for (const Scorer& scorer : scorers) sum += scorer.weight * scorer.points(pod, node);
  return sum;
}

}  // namespace ddptwin::scheduler
