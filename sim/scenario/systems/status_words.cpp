#include "scenario/systems/status_words.hpp"

#include <array>

#include "objects/autoscaling.hpp"
#include "objects/core_v1.hpp"
#include "objects/volumes.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {
namespace {

using Words = std::string_view;

constexpr std::array pod_phases{Words("Pending"), Words("Running"), Words("Succeeded"),
                                Words("Failed"), Words("Unknown")};
constexpr std::array pod_conditions{Words("PodScheduled"), Words("PodReadyToStartContainers"),
                                    Words("Initialized"),  Words("ContainersReady"),
                                    Words("Ready"),        Words("DisruptionTarget")};
constexpr std::array node_conditions{Words("Ready"), Words("MemoryPressure"), Words("DiskPressure"),
                                     Words("PIDPressure"), Words("NetworkUnavailable")};
constexpr std::array namespace_phases{Words("Active"), Words("Terminating")};
constexpr std::array namespace_conditions{
    Words("NamespaceDeletionDiscoveryFailure"),
    Words("NamespaceDeletionGroupVersionParsingFailure"), Words("NamespaceDeletionContentFailure"),
    Words("NamespaceContentRemaining"), Words("NamespaceFinalizersRemaining")};
constexpr std::array autoscaler_conditions{Words("AbleToScale"), Words("ScalingActive"),
                                           Words("ScalingLimited")};

constexpr std::array claim_phases{Words("Pending"), Words("Bound"), Words("Lost")};
constexpr std::array volume_phases{Words("Pending"), Words("Available"), Words("Bound"),
                                   Words("Released"), Words("Failed")};

// spec/kubernetes.md §2.2 and §2.8.
constexpr std::array kubernetes_words{
    StatusWords{
        .info = &Pod::info, .phases = pod_phases, .conditions = pod_conditions, .open = true},
    StatusWords{.info = &Node::info, .conditions = node_conditions, .open = true},
    StatusWords{
        .info = &Namespace::info, .phases = namespace_phases, .conditions = namespace_conditions},
    StatusWords{.info = &HorizontalPodAutoscaler::info, .conditions = autoscaler_conditions},
    StatusWords{.info = &PersistentVolumeClaim::info, .phases = claim_phases, .open = true},
    StatusWords{.info = &PersistentVolume::info, .phases = volume_phases},
    StatusWords{.info = &Service::info, .open = true},
};

const StatusWords* find_words(std::span<const StatusWords> among, const KindInfo& kind) {
  for (const StatusWords& row : among)
    if (&row.info() == &kind) return &row;
  return nullptr;
}

}  // namespace

const StatusWords& status_words(const KindInfo& kind) {
  static constexpr StatusWords none{};
  for (const System* system : all_workload_rows())
    if (const StatusWords* row = find_words(system->states, kind)) return *row;
  const StatusWords* row = find_words(kubernetes_words, kind);
  return row != nullptr ? *row : none;
}

}  // namespace ddptwin::scenario
