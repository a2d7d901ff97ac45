// The volumes of a pod: what is in them and where the kubelet says they lie (spec/kubernetes.md
// §2.10).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/kubelet/pod_context.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// One volume. The error's message is that of the FailedMount event; kubelets try each volume anew
// by itself after 0.5, 1, 2, ... s.
Result<std::shared_ptr<const VolumeSource>> volume(const PodContext& context, const Volume& volume);
// All volumes of the pod, in their order; the first error if one is not ready.
Result<std::vector<std::shared_ptr<const VolumeSource>>> volumes(const PodContext& context);

// Whether a volume of the pod shows that ConfigMap or Secret, is of that claim, or of the claim
// that has that PersistentVolume.
bool shows(const Pod& pod, const Object& object);
// Whether a volume of the pod may show its own labels and annotations.
bool shows_itself(const Pod& pod);

// "<root>/pods/UID/volumes/kubernetes.io~configmap/NAME"; a hostPath volume's own path.
std::string volume_path(const PodContext& context, const Volume& volume);
// Volumes whose content the kubelet writes are mounted read-only whatever the mount says.
bool is_read_only(const Volume& volume);

}  // namespace ddptwin::kubelet
