// What the kubelet asks of the runtime for a pod's sandbox.
#pragma once

#include "cluster/kubelet/pod_context.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// The error is the cause alone; the event FailedCreatePodSandBox puts words before it. The hostname
// of a hostNetwork pod is the node's name: a real kubelet leaves it out and the host's then shows.
Result<SandboxConfig> sandbox_config(const PodContext& context, std::uint32_t attempt,
                                     Notices* notices = nullptr);

// The same for the runtime. What can fail, or gives notice of something, is worked out now. All
// that it is given outlives the order.
Result<SandboxOrder> sandbox_order(const Pod& pod, const NodeSettings& settings,
                                   const MakePodContext& context, std::uint32_t attempt,
                                   Notices* notices);

SandboxMetadata sandbox_metadata(const Pod& pod, std::uint32_t attempt);

// CRI LinuxSandboxSecurityContext and LinuxContainerSecurityContext as JSON.
Json sandbox_security(const PodSpec& spec);
Json container_security(const PodSpec& spec, const Container& container);

}  // namespace ddptwin::kubelet
