// The status of a pod as the kubelet works it out, and how that meets what the API server has.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cluster/kubelet/conditions.hpp"
#include "cluster/kubelet/container_statuses.hpp"

namespace ddptwin::kubelet {

// Why the kubelet ends a pod by itself: an eviction, a deadline, a refused admission.
struct PodVerdict {
  std::string reason{};
  std::string message{};
  // Text of a DisruptionTarget condition (TerminationByKubelet); empty: none.
  std::string disruption{};
};

// What the probes say of a container that runs (probes.hpp).
struct Readiness {
  bool started = false;
  bool ready = false;
};

// Of the node. Its pods share them.
struct HostAddresses {
  Text ip{};
  Cow<std::vector<IpEntry>> list{};  // that one, where there is one
};

struct StatusInputs {
  StatusSources sources;
  const HostAddresses& host;
  bool all_stopped = false;  // the pod is being ended and nothing of it runs
  RestartAll restart_all = RestartAll::absent;
  const PodVerdict* verdict = nullptr;
  // What was said last has the addresses that would be made.
  bool addresses_stay = false;
  Time now{};
  Interner<std::vector<PodCondition>>& conditions;  // of the statuses of all pods
  // Asked for containers that run.
  std::function<Readiness(const Container&, const ContainerStatus&)> readiness{};
};

// The whole status but for what settle_times() adds. A phase that the API server shows as terminal
// stays. Source: spec/kubernetes.md §2.1 to §2.3, §2.8.
PodStatus pod_status(const StatusInputs& inputs);

// Of a pod that the kubelet does not take in.
PodStatus rejected_status(const Pod& pod, const PodVerdict& verdict);

// Once nothing of the pod can run any more: what never started counts as lost, the phase is
// terminal.
void make_final(const Pod& pod, PodStatus& status);
// Whether that would change nothing.
bool is_final(const Pod& pod, const PodStatus& status);

// Before the status is kept: times, start time and generation. `before`: what was said last, from
// which pod_status() has made it.
void settle_times(const Pod& pod, const PodStatus& before, PodStatus& status, Time now);

// Makes of the kubelet's own status what is to be written: conditions of others as the API server
// has them, first; a terminal phase not while containers may run.
void merge_for_write(const PodStatus& server, PodStatus& own, bool may_run);

// Whether it says nothing but what is the kubelet's to say.
bool says_only_own(const PodStatus& own);

// Whether merge_for_write() would change nothing.
bool is_merged(const PodStatus& server, const PodStatus& own, bool may_run);

// Whether somebody else has changed what is the kubelet's, and a write would change it back. Of its
// own conditions, and of DisruptionTarget, times do not count. Source: upstream status_manager.go,
// isPodStatusByKubeletEqual.
bool is_written_over(const PodStatus& server, const PodStatus& own, bool may_run);

}  // namespace ddptwin::kubelet
