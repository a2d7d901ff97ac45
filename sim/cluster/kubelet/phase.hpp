// The phase of a pod as a function of its containers.
#pragma once

#include <string_view>

#include "objects/core_v1.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::kubelet {

// Whether some main container runs or has ever run.
bool any_main_started(const PodSpec& spec, const PodStatus& status);

// `all_stopped`: the pod is being ended and nothing of it runs, so that restart policies no longer
// count. Source: spec/kubernetes.md §2.2.
std::string_view pod_phase(const PodSpec& spec, const PodStatus& status, bool all_stopped);

const ContainerStatus* find_status(const std::vector<ContainerStatus>& statuses,
                                   std::string_view name);

}  // namespace ddptwin::kubelet
