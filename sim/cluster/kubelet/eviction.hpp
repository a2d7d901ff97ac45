// For what a kubelet ends pods that take too much of their node: the rules, without a clock
// (spec/kubernetes.md §2.2, §2.12; upstream pkg/kubelet/eviction).
#pragma once

#include <optional>

#include "cluster/kubelet/status.hpp"
#include "objects/core_v1.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// Whether the pod has a limit that it can be over: the sizeLimit of an emptyDir on disk, or
// ephemeral-storage of the pod or of one of its containers. Others are not looked at.
bool has_disk_limits(const PodSpec& spec);

// Never evicted: a pod of the system's own priorities (upstream types.IsCriticalPod).
bool is_critical(const PodSpec& spec);

// Why the pod is evicted, or nothing. Asked in this order: its emptyDirs as they are written, the
// pod as a whole, its containers in the order of their starts. The limit of the pod is the sum of
// those that its containers have, whoever has none.
std::optional<PodVerdict> over_disk_limit(const PodSpec& spec, const PodUsage& usage);

// Of the node's memory so much is to be free (upstream's default memory.available<100Mi).
inline constexpr std::int64_t free_memory_min = 100LL << 20U;

// A pod and what it takes of the memory.
struct MemoryUser {
  const PodSpec* spec = nullptr;
  const PodUsage* usage = nullptr;
};
std::int64_t memory_of(const PodUsage& usage);  // of all its containers, in bytes
// Whether `a` is to go before `b`: who has more than it requests, then by priority, then by how
// much more (upstream rankMemoryPressure).
bool goes_first(const MemoryUser& a, const MemoryUser& b);
// Why it goes, when that much is free: it names the containers that have more than they request.
PodVerdict low_on_memory(const MemoryUser& user, std::int64_t available);
// Why a node whose memory is short does not take a pod, or nothing: it takes those that ask for
// anything, tolerate the taint or are the system's own (upstream managerImpl.Admit).
std::optional<PodVerdict> refuse_under_pressure(const PodSpec& spec);

}  // namespace ddptwin::kubelet
