#include "cluster/scheduler/score.hpp"

#include <algorithm>
#include <array>

#include "cluster/scheduler/matching.hpp"

namespace ddptwin::scheduler {
namespace {

constexpr std::int64_t points_max = 100;

// What a pod counts for in scoring that requests nothing.
struct Resource {
  std::string_view name;
  std::int64_t milli_default;
};
constexpr std::array resources{Resource{"cpu", 100},
                               Resource{"memory", 200LL * 1024 * 1024 * 1000}};

std::int64_t milli_of(const PodInfo& pod, const Resource& resource) {
  const auto found = pod.request.find(resource.name);
  return found == pod.request.end() || found->second.zero() ? resource.milli_default
                                                            : found->second.milli_value();
}

std::int64_t least_allocated(const PodInfo& pod, const NodeInfo& node) {
  std::int64_t sum = 0;
  for (const Resource& resource : resources) {
    const auto has = node.node->status.allocatable.find(resource.name);
    if (has == node.node->status.allocatable.end() || has->second.zero()) continue;
    const std::int64_t allocatable = has->second.milli_value();
    std::int64_t used = milli_of(pod, resource);
    for (const auto& [key, other] : node.pods) used += milli_of(*other, resource);
    if (used < allocatable)
      sum += static_cast<std::int64_t>(static_cast<int128>(allocatable - used) * points_max /
                                       allocatable);
  }
  return sum / std::ssize(resources);
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
