#include "cluster/kubelet/phase.hpp"

#include <algorithm>

#include "cluster/kubelet/restart_policy.hpp"

namespace ddptwin::kubelet {
namespace {

struct Tally {
  int init_pending = 0, init_failed = 0, init_failed_for_good = 0, sidecars_pending = 0;
  int running = 0, waiting = 0, stopped = 0, succeeded = 0, unknown = 0, to_restart = 0;
};

void count_init(const PodSpec& spec, const Container& container, const ContainerStatus* status,
                Tally& tally) {
  const auto failed = [&](const ContainerStateTerminated& end) {
    if (end.exitCode == 0) return;
    ++tally.init_failed;
    if (after_exit(spec, container, end.exitCode) == RestartDecision::stay)
      ++tally.init_failed_for_good;
  };
  if (status == nullptr || status->state.running) {
    ++tally.init_pending;
  } else if (status->state.terminated) {
    failed(*status->state.terminated);
  } else {
    // Waiting for its first or its next start.
    ++tally.init_pending;
  }
}

void count_sidecar(const ContainerStatus* status, Tally& tally) {
  if (status == nullptr) {
    ++tally.unknown;
  } else if (status->state.running) {
    ++tally.running;
    if (!status->started.value_or(false)) ++tally.sidecars_pending;
  } else if (!status->state.terminated && !status->lastState->terminated) {
    ++tally.waiting;
    ++tally.sidecars_pending;
  }
}

void count_main(const PodSpec& spec, const Container& container, const ContainerStatus* status,
                Tally& tally) {
  if (status == nullptr) {
    ++tally.unknown;
  } else if (status->state.running) {
    ++tally.running;
  } else if (status->state.terminated) {
    ++tally.stopped;
    const std::int32_t code = status->state.terminated->exitCode;
    if (code == 0) ++tally.succeeded;
    if (after_exit(spec, container, code) != RestartDecision::stay) ++tally.to_restart;
  } else if (status->lastState->terminated) {
    ++tally.stopped;
    ++tally.to_restart;
  } else {
    ++tally.waiting;
  }
}

Tally tally_of(const PodSpec& spec, const PodStatus& status) {
  Tally tally;
  for (const Container& container : spec.initContainers) {
    const ContainerStatus* seen = find_status(status.initContainerStatuses, container.name);
    if (is_sidecar(container))
      count_sidecar(seen, tally);
    else
      count_init(spec, container, seen, tally);
  }
  for (const Container& container : spec.containers)
    count_main(spec, container, find_status(status.containerStatuses, container.name), tally);
  return tally;
}

}  // namespace

const ContainerStatus* find_status(const std::vector<ContainerStatus>& statuses,
                                   std::string_view name) {
  for (const ContainerStatus& status : statuses)
    if (status.name == name) return &status;
  return nullptr;
}

bool any_main_started(const PodSpec& spec, const PodStatus& status) {
  return std::any_of(
      spec.containers.begin(), spec.containers.end(), [&](const Container& container) {
        const ContainerStatus* seen = find_status(status.containerStatuses, container.name);
        return seen != nullptr &&
               (seen->state.running || seen->state.terminated || seen->lastState->terminated);
      });
}

std::string_view pod_phase(const PodSpec& spec, const PodStatus& status, bool all_stopped) {
  const Tally t = tally_of(spec, status);
  if (t.init_failed_for_good > 0) return "Failed";
  if (t.init_pending > 0 || t.init_failed > 0) return "Pending";
  if (t.sidecars_pending > 0 && !any_main_started(spec, status)) return "Pending";
  if (t.waiting > 0 || t.unknown > 0) return "Pending";
  if (t.running > 0) return "Running";
  if (t.stopped == 0) return "Pending";
  if (t.to_restart > 0 && !all_stopped) return "Running";
  return t.stopped == t.succeeded ? "Succeeded" : "Failed";
}

}  // namespace ddptwin::kubelet
