// Stops containers of a pod: hook, order, signal, grace.
#pragma once

#include <memory>
#include <vector>

#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/plan.hpp"

namespace ddptwin::kubelet {

// What a container has at least, in seconds, from SIGTERM to SIGKILL.
inline constexpr std::int64_t grace_min = 2;

struct StopRequest {
  ContainerId id{};
  std::string name{};
  std::string message{};                // of the Killing event; empty: "Stopping container NAME"
  std::optional<ProbeKind> because{};   // a failed probe may bring its own grace period
  std::optional<std::int64_t> grace{};  // overrules all others
};

// Each container by itself: event Killing, preStop, its turn, then the runtime's stop with what is
// left of the grace period, at least `grace_min`. With `ordered`, sidecars wait for their turn:
// main containers first, then the last sidecar, and so on. `done` is called once all have ended; it
// may come inside the call when there is nothing to stop. Source: spec/kubernetes.md §2.5, §2.6.
void stop_containers(const std::shared_ptr<NodeContext>& node, std::shared_ptr<const Pod> pod,
                     std::vector<StopRequest> requests, bool ordered, Callback done);

}  // namespace ddptwin::kubelet
