// Starts one container: back-off, image, configuration, creation, start, postStart hook.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cluster/kubelet/container_statuses.hpp"
#include "cluster/kubelet/node_context.hpp"

namespace ddptwin::kubelet {

struct StartRequest {
  std::shared_ptr<const Pod> pod{};
  const Container* container = nullptr;  // a part of the pod
  bool init = false;                     // one of its initContainers
  Cow<PodRuntimeState> seen{};           // what this look at the pod saw
  SandboxId sandbox{};
  std::uint32_t sandbox_attempt = 0;
  std::vector<std::shared_ptr<const VolumeSource>> volumes{};
};

struct StartOutcome {
  std::optional<StartFailure> failure{};
  std::optional<Time> until{};  // of a back-off: when it ends
};

// The key under which restarts of that container back off.
std::string restart_key(const Pod& pod, std::string_view container);

// `done` may come inside the call. Source: spec/kubernetes.md §2.3, §2.4, §2.13.
void start_container(const std::shared_ptr<NodeContext>& node, StartRequest request,
                     UniqueFunction<void(StartOutcome)> done);

}  // namespace ddptwin::kubelet
