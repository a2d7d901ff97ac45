// The two filters that look beyond the node itself: topology spread and pod (anti-)affinity
// (spec/kubernetes.md §3.1). Each walks all nodes for every node asked about: quadratic in the
// nodes for pods that use them, nothing for those that do not.
#pragma once

#include "cluster/scheduler/filters.hpp"

namespace ddptwin::scheduler {

std::optional<Refusal> refuse_skew(const PodInfo& pod, const NodeInfo& node,
                                   const ClusterView& view);
bool spread_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView& view);

std::optional<Refusal> refuse_neighbours(const PodInfo& pod, const NodeInfo& node,
                                         const ClusterView& view);
bool neighbours_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView& view);

}  // namespace ddptwin::scheduler
