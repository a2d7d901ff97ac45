// The condition DisruptionTarget: who ends a pod, and why (spec/kubernetes.md §2.8).
#pragma once

#include <string_view>

#include "objects/core_v1.hpp"

namespace ddptwin {

inline constexpr std::string_view disruption_target = "DisruptionTarget";

// As it will stand on that pod; its time is the one since when it is True.
PodCondition disruption_of(const Pod& pod, Time now, std::string_view reason,
                           std::string_view message);

// Puts it into the pod's status, in its place or behind the others; false: it says so already.
bool mark_disrupted(Pod& pod, PodCondition disruption);

}  // namespace ddptwin
