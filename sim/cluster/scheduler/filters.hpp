// Which nodes a pod may go to, and what each of the others says. A table of filters in the order of
// the real scheduler's plugins: the first that refuses speaks for the node
// (spec/kubernetes.md §3.1, §3.2).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cluster/scheduler/cluster_view.hpp"

namespace ddptwin::scheduler {

struct Refusal {
  std::vector<std::string> reasons{};  // "Insufficient cpu", ...
  bool curable = false;                // taking pods away from the node could help
  std::string_view filter{};           // set by refusal_of()
};

// Something that happened and may help a pod that fitted nowhere.
struct ClusterEvent {
  enum class Kind : std::uint8_t {
    node_added,       // node_after
    node_changed,     // node_before, node_after
    node_removed,     // node_before
    pod_placed,       // pod_after
    pod_freed,        // pod_before: deleted or ended where it was placed
    pod_relabelled,   // pod_before, pod_after; placed
    volumes_changed,  // claim; none where it is a volume or a class
    itself_changed,   // pod_before, pod_after: the waiting pod
    group_changed,    // a PodGroup has come or is another
  };
  Kind kind;
  std::shared_ptr<const Node> node_before{}, node_after{};
  PodPtr pod_before{}, pod_after{};
  ClaimPtr claim{};
};

// Nothing: the pod fits.
using Refuse = std::optional<Refusal>(const PodInfo& pod, const NodeInfo& node,
                                      const ClusterView& view);
// Whether the event may make the filter accept where it refused: a pod is tried again only then.
using MayHelp = bool(const PodInfo& pod, const ClusterEvent& event, const ClusterView& view);

struct Filter {
  std::string_view name;  // the real plugin's
  Refuse* refuse;
  MayHelp* may_help;
};
std::span<const Filter> filters();
// That of its rows which also refuses a pod before any node is looked at.
inline constexpr std::string_view volume_binding = "VolumeBinding";

// What the first filter that refuses says, or nothing where the pod fits.
std::optional<Refusal> refusal_of(const PodInfo& pod, const NodeInfo& node,
                                  const ClusterView& view);

}  // namespace ddptwin::scheduler
