// Whether a node takes a pod that is bound to it.
#pragma once

#include <optional>
#include <vector>

#include "cluster/kubelet/status.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

// What a pod takes of its node. It refers to parts of the pod and of what is known of it.
struct PodClaim {
  const PodSpec& spec;
  const ResourceList& requests;  // of the pod as a whole
};

// Why not, or nothing. `others` are the pods that hold resources of the node. Asked in this order:
// resources, node selector and affinity, host ports. Source: upstream lifecycle/predicate.go,
// spec/kubernetes.md §2.2.
std::optional<PodVerdict> refuse_pod(const PodClaim& pod, const Node& node,
                                     const std::vector<PodClaim>& others);

}  // namespace ddptwin::kubelet
