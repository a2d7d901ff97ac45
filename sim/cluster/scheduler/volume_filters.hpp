// The rows about volumes in the table of filters (spec/kubernetes.md §3.7).
#pragma once

#include "cluster/scheduler/filters.hpp"

namespace ddptwin::scheduler {

// Another pod has a claim that one pod alone may use (ReadWriteOncePod).
std::optional<Refusal> refuse_exclusive(const PodInfo& pod, const NodeInfo& node,
                                        const ClusterView& view);
bool exclusive_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView& view);

std::optional<Refusal> refuse_volumes(const PodInfo& pod, const NodeInfo& node,
                                      const ClusterView& view);
bool volumes_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView& view);

}  // namespace ddptwin::scheduler
