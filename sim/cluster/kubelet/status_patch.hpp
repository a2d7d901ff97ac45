// The patch that brings a status on the API server to what it should be: only what differs.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

// A strategic merge patch of the pod with its uid as precondition, as kubelets send it (conditions
// one by one under their type, with the order of all). Source: spec/kubernetes.md §2.1.
Json status_patch(std::string_view uid, const PodStatus& before, const PodStatus& after);

}  // namespace ddptwin::kubelet
