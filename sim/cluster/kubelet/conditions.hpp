// The conditions that the kubelet writes, each as a function of the pod and its other status.
#pragma once

#include <optional>

#include "cluster/kubelet/runtime_state.hpp"
#include "objects/core_v1.hpp"
#include "objects/interner.hpp"

namespace ddptwin::kubelet {

// Conditions of these types are the kubelet's; it leaves all others as they are.
bool is_kubelet_condition(std::string_view type);

// What of a restart of all containers in place is under way; absent: the pod has no such rule.
enum class RestartAll : std::uint8_t { absent, idle, under_way };

struct ConditionInputs {
  const Pod& pod;
  bool sandbox_ready = false;
  RestartAll restart_all = RestartAll::absent;
  const PodStatus& before;  // what the kubelet said last
  Time now{};
  Interner<std::vector<PodCondition>>& known;  // of the statuses of all pods
};

// Adds them to `status` in the order in which the kubelet writes them. `status` has its phase and
// container statuses, and in its conditions those of others, which readiness gates read. A
// condition whose status is as before keeps the time of its last transition. Where a list that is
// known says all of that, none is made. Source: spec/kubernetes.md §2.8.
void add_kubelet_conditions(const ConditionInputs& inputs, PodStatus& status);

// The same once the sandbox is there: PodReadyToStartContainers is true from now on.
Cow<std::vector<PodCondition>> with_ready_sandbox(const Cow<std::vector<PodCondition>>& conditions,
                                                  Time now,
                                                  Interner<std::vector<PodCondition>>& known);

// What has no time of a transition yet changes now.
void settle_transition_times(Cow<std::vector<PodCondition>>& conditions, Time now);

// Ready and ContainersReady anew, after a container's readiness changed.
void refresh_readiness(const Pod& pod, PodStatus& status);

const PodCondition* find_condition(const std::vector<PodCondition>& conditions,
                                   std::string_view type);

}  // namespace ddptwin::kubelet
