// ContainerStatus of each container, from what the runtime says, what was said before, and why a
// start failed.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "cluster/kubelet/runtime_state.hpp"
#include "cluster/kubelet/spec_facts.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

// Why a container could not be started, last time (upstream's reason cache): the waiting state's
// reason and message, by container name.
struct StartFailure {
  std::string reason{};
  std::string message{};
};
using StartFailures = std::map<std::string, StartFailure, std::less<>>;

// How many instances of each container a restart of all in place has removed.
using RemovedCounts = std::map<std::string, std::int32_t, std::less<>>;

struct StatusSources {
  const Pod& pod;
  const SpecFacts& facts;  // of its specification
  const PodRuntimeState& state;
  const PodStatus& before;  // what the kubelet said last
  const StartFailures& failures;
  const RemovedCounts& removed;
  // Those of `before` were made of the same specification and instances, and nothing else.
  bool init_containers_stay = false, containers_stay = false;
};

// Fills containerStatuses (by name) and initContainerStatuses (in the order of the specification),
// all but `ready` and `started`. Source: spec/kubernetes.md §2.3, §2.4.
void fill_container_statuses(const StatusSources& sources, PodStatus& status);

// What a container of which nothing is known any more is said to have done (exit code 137).
ContainerStateTerminated unknown_end(std::string message);

}  // namespace ddptwin::kubelet
