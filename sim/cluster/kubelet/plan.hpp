// What one look at a pod decides: sandbox, containers to kill, containers to start.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/kubelet/runtime_state.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

enum class ProbeKind : std::uint8_t { liveness, readiness, startup };
enum class ProbeResult : std::uint8_t { unknown, success, failure };

// What a probe of the running container last said; nothing where it has none or has not run.
using ProbeLookup = std::function<std::optional<ProbeResult>(ProbeKind, const ContainerId&)>;

struct KillOrder {
  ContainerId id{};
  std::string name{};
  std::string message{};               // of the Killing event
  std::optional<ProbeKind> because{};  // the probe that failed
};

// `starts` name containers by their place in the specification.
struct PodActions {
  bool kill_pod = false;
  bool create_sandbox = false;
  std::uint32_t sandbox_attempt = 0;
  std::vector<KillOrder> kills{};
  std::vector<std::size_t> init_starts{};
  std::vector<std::size_t> starts{};
  bool restart_all = false;  // a rule asks for a restart of all containers in place

  // Nothing is to be done.
  bool empty() const {
    return !kill_pod && !create_sandbox && !restart_all && kills.empty() && init_starts.empty() &&
           starts.empty();
  }
};

// Source: upstream computePodActions, spec/kubernetes.md §2.4, §2.6, §2.7.
PodActions plan_actions(const Pod& pod, const PodRuntimeState& state, const ProbeLookup& probes);

}  // namespace ddptwin::kubelet
