// Whether an ended container is started again: the pod's policy, the container's own, its rules.
#pragma once

#include "cluster/kubelet/runtime_state.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

// A container or init container of that name, or null.
const Container* find_container(const PodSpec& spec, std::string_view name);

enum class RestartDecision : std::uint8_t { stay, restart, restart_all };

// What follows the end of a container with that code. The first matching rule decides, then the
// container's own policy, then the pod's. Source: spec/kubernetes.md §2.4.
RestartDecision after_exit(const PodSpec& spec, const Container& container, std::int32_t exit_code);

// Whether a failure of the container is ever followed by a restart.
bool restarts_on_failure(const PodSpec& spec, const Container& container);

// Whether the container should run and does not, so that the next pass starts it.
bool wants_start(const Pod& pod, const Container& container, const PodRuntimeState& state);

// Whether some container has a rule with the action RestartAllContainers.
bool has_restart_all_rule(const PodSpec& spec);

}  // namespace ddptwin::kubelet
