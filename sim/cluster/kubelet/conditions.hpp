// The conditions that the kubelet writes, each as a function of the pod and its other status.
#pragma once

#include <optional>

#include "cluster/kubelet/runtime_state.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

// Conditions of these types are the kubelet's; it leaves all others as they are.
bool is_kubelet_condition(std::string_view type);

// What of a restart of all containers in place is under way; absent: the pod has no such rule.
enum class RestartAll : std::uint8_t { absent, idle, under_way };

// In the order in which the kubelet writes them. `status` has its phase and container statuses, and
// in its conditions those of others, which readiness gates read. Transition times are left to
// keep_transition_times(). Source: spec/kubernetes.md §2.8.
std::vector<PodCondition> kubelet_conditions(const Pod& pod, const PodStatus& status,
                                             bool sandbox_ready, RestartAll restart_all);

// A condition whose status is as before keeps the time of its last transition; one of others that
// has no time yet changes now.
void keep_transition_times(Cow<std::vector<PodCondition>>& conditions, const PodStatus& before,
                           Time now);

// Ready and ContainersReady anew, after a container's readiness changed.
void refresh_readiness(const Pod& pod, PodStatus& status);

const PodCondition* find_condition(const std::vector<PodCondition>& conditions,
                                   std::string_view type);

}  // namespace ddptwin::kubelet
