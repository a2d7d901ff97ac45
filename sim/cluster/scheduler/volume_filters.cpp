#include "cluster/scheduler/volume_filters.hpp"

#include <algorithm>

namespace ddptwin::scheduler {
namespace {

bool is_exclusive(const PersistentVolumeClaim& claim) {
  const auto& modes = claim.spec.accessModes;
  return std::find(modes.begin(), modes.end(), "ReadWriteOncePod") != modes.end();
}

bool is_used_by_another(const PodInfo& pod, const PersistentVolumeClaim& claim,
                        const ClusterView& view) {
  for (const NodeInfo* node : view.nodes())
    for (const auto& [key, placed] : node->pods)
      if (placed.pod->metadata.uid != pod.pod->metadata.uid && uses_claim(*placed.pod, claim))
        return true;
  return false;
}

bool share_a_claim(const PodInfo& pod, const Pod& other) {
  const auto& own = pod.needs->claims;
  const auto names = claims_of(*other.spec);
  return pod.pod->metadata.namespace_ == other.metadata.namespace_ &&
         std::any_of(own.begin(), own.end(), [&names](const std::string& name) {
           return std::find(names.begin(), names.end(), name) != names.end();
         });
}

}  // namespace

std::optional<Refusal> refuse_exclusive(const PodInfo& pod, const NodeInfo&,
                                        const ClusterView& view) {
  for (const std::string& name : pod.needs->claims) {
    const ClaimPtr claim = view.volumes().claim(pod.pod->metadata.namespace_, name);
    if (claim && is_exclusive(*claim) && is_used_by_another(pod, *claim, view))
      return Refusal{.reasons = {"node has pod using PersistentVolumeClaim with the same name and "
                                 "ReadWriteOncePod access mode"},
                     .curable = true};
  }
  return std::nullopt;
}

bool exclusive_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  using Kind = ClusterEvent::Kind;
  if (event.kind == Kind::volumes_changed) return event.claim && uses_claim(*pod.pod, *event.claim);
  return event.kind == Kind::pod_freed && share_a_claim(pod, *event.pod_before);
}

std::optional<Refusal> refuse_volumes(const PodInfo& pod, const NodeInfo& node,
                                      const ClusterView& view) {
  if (pod.needs->claims.empty()) return std::nullopt;
  auto reasons = reasons_of_volumes(*pod.pod, *node.node, view.volumes());
  if (reasons.empty()) return std::nullopt;
  return Refusal{.reasons = std::move(reasons)};
}

// Of claims only the pod's own matter; of volumes and classes every change may.
bool volumes_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  using Kind = ClusterEvent::Kind;
  if (event.kind == Kind::volumes_changed)
    return !event.claim || uses_claim(*pod.pod, *event.claim);
  return event.kind == Kind::node_added ||
         (event.kind == Kind::node_changed &&
          *event.node_before->metadata.labels != *event.node_after->metadata.labels);
}

}  // namespace ddptwin::scheduler
