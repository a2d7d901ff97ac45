// From a pod and all it refers to: what the kubelet asks of the runtime (spec/kubernetes.md §2.9 to
// §2.11). Pure functions; this header is the way in to all of them.
#pragma once

#include "cluster/kubelet/env.hpp"
#include "cluster/kubelet/hosts.hpp"
#include "cluster/kubelet/image_names.hpp"
#include "cluster/kubelet/pod_context.hpp"
#include "cluster/kubelet/resolv_conf.hpp"
#include "cluster/kubelet/sandbox_config.hpp"
#include "cluster/kubelet/volumes.hpp"
#include "cluster/pods/resources.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// `container` is one of the pod's; `volumes` are those of volumes(), shared by all of them;
// `attempt` is the restart count; `image` what the runtime has pulled. The error's message is what
// the container waits with as CreateContainerConfigError. Values of ConfigMaps and Secrets are
// those of this moment.
Result<ContainerConfig> container_config(
    const PodContext& context, const Container& container, std::uint32_t attempt,
    const ImageStatus& image, const std::vector<std::shared_ptr<const VolumeSource>>& volumes,
    Notices* notices = nullptr);

// The same for the runtime. What can fail, or gives notice of something, is worked out now. All
// that it is given outlives the order.
Result<ContainerOrder> container_order(
    const Pod& pod, const MakePodContext& context, const Container& container,
    std::uint32_t attempt, const ImageStatus& image,
    const std::vector<std::shared_ptr<const VolumeSource>>& volumes, Notices* notices);

}  // namespace ddptwin::kubelet
