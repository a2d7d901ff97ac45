// The two filters that look beyond the node itself: topology spread and pod (anti-)affinity
// (spec/kubernetes.md §3.1). Each walks all nodes for every node asked about: quadratic in the
// nodes for pods that use them, nothing for those that do not.
#pragma once

#include "cluster/scheduler/filters.hpp"

namespace ddptwin::scheduler {

Refuse refuse_skew;
MayHelp spread_may_help;
Refuse refuse_neighbours;
MayHelp neighbours_may_help;

}  // namespace ddptwin::scheduler
