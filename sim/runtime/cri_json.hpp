// Configurations as the recordings of a real kubelet show them: the CRI messages in protojson
// (tests/recordings/kubelet, `requests`).
#pragma once

#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// The content of RunPodSandbox's and CreateContainer's configurations. Variables and DNS options
// are sorted, zeros left out, and `files` shows what the kubelet put into the mounts.
Json cri_json(const SandboxConfig& config);
Json cri_json(const ContainerConfig& config);

}  // namespace ddptwin::kubelet
