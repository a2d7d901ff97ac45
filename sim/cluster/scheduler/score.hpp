// Which of the nodes that fit a pod likes best.
#pragma once

#include "cluster/scheduler/cluster_view.hpp"

namespace ddptwin::scheduler {

// The weighted sum of what the real scheduler's default plugins measure on one node, each from 0 to
// 100: room left (NodeResourcesFit, LeastAllocated), preferred node affinity, taints that would
// rather have no pods. What compares nodes with each other (balance, spread preferences, preferred
// pod affinity, images) is left out: it only moves a choice among nodes that all fit.
std::int64_t score(const PodInfo& pod, const NodeInfo& node);

}  // namespace ddptwin::scheduler
