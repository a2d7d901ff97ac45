// For what a kubelet ends pods that take too much of their node: the rules, without a clock
// (spec/kubernetes.md §2.2, §2.12; upstream pkg/kubelet/eviction).
#pragma once

#include <array>
#include <optional>
#include <span>

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

// Something that a node has so much of. When less than a part of it is free, the node says so, and
// pods go. Sources: upstream eviction/helpers.go (signals, conditions and resources),
// apis/config/v1beta1/defaults_linux.go (DefaultEvictionHard), kubelet_node_status setters.
struct Signal {
  struct Words {
    std::string_view reason{}, message{};
  };
  NodeResource what{};
  std::string_view resource{};  // in capacities, requests and messages
  std::string_view condition{}, taint{};
  Words under{}, without{};                                // of the condition
  std::int64_t (*least)(std::int64_t capacity) = nullptr;  // that is to be free, in bytes
  std::int64_t (*of_container)(const PodUsage::OfContainer& one) = nullptr;  // bytes
  std::int64_t (*of_pod)(const PodUsage& usage) = nullptr;
  // Who asks for anything, or tolerates its taint, is taken under this pressure alone.
  bool takes_who_asks = false;
};
// In the order in which they are reclaimed: memory, then nodefs. Of inodes and of the images' disk
// nothing is known.
inline constexpr std::size_t signal_count = 2;
std::span<const Signal, signal_count> signals();

// A pod and what it takes of its node.
struct PodUser {
  const PodSpec* spec = nullptr;
  const PodUsage* usage = nullptr;
};
// Whether `a` is to go before `b`: who has more than it requests, then by priority, then by how
// much more (upstream rankMemoryPressure, rankDiskPressureFunc).
bool goes_first(const Signal& signal, const PodUser& a, const PodUser& b);
// Why it goes, when that much is to be and that much is free: it names the containers that have
// more than they request (upstream evictionMessage).
PodVerdict low_on(const Signal& signal, const PodUser& user, std::int64_t least,
                  std::int64_t available);
// Why a node under these pressures, in the order of signals(), does not take a pod, or nothing: it
// takes those of the system's own, and what Signal::takes_who_asks says (upstream
// managerImpl.Admit).
std::optional<PodVerdict> refuse_under(std::span<const Signal* const> pressures,
                                       const PodSpec& spec);

}  // namespace ddptwin::kubelet
