#include "cluster/scheduler/filters.hpp"

#include <algorithm>
#include <array>

#include "cluster/scheduler/affinity_filters.hpp"
#include "cluster/scheduler/matching.hpp"
#include "cluster/scheduler/volume_filters.hpp"
#include "objects/codec.hpp"

namespace ddptwin::scheduler {
namespace {

using Kind = ClusterEvent::Kind;

Refusal incurable(std::string reason) { return {.reasons = {std::move(reason)}}; }
Refusal curable(std::string reason) { return {.reasons = {std::move(reason)}, .curable = true}; }

// The event is about a node, on which the question has now, and had not before, the answer yes.
template <class Question>
bool node_became(const ClusterEvent& event, Question question) {
  if (event.kind == Kind::node_added) return question(*event.node_after);
  return event.kind == Kind::node_changed && question(*event.node_after) &&
         !question(*event.node_before);
}

bool tolerations_changed(const ClusterEvent& event) {
  return event.kind == Kind::itself_changed &&
         !equal(event.pod_before->spec->tolerations, event.pod_after->spec->tolerations);
}

// Where affinity names its nodes the others are not looked at: they say so in words of their own.
std::optional<Refusal> refuse_unnamed(const PodInfo& pod, const NodeInfo& node,
                                      const ClusterView&) {
  const auto names = named_nodes(*pod.pod->spec);
  if (!names || std::find(names->begin(), names->end(), node.node->metadata.name) != names->end())
    return std::nullopt;
  return incurable("node(s) didn't satisfy plugin(s) [NodeAffinity]");
}

std::optional<Refusal> refuse_cordoned(const PodInfo& pod, const NodeInfo& node,
                                       const ClusterView&) {
  if (!node.node->spec.unschedulable || tolerates_cordon(*pod.pod->spec)) return std::nullopt;
  return incurable("node(s) were unschedulable");
}

std::optional<Refusal> refuse_tainted(const PodInfo& pod, const NodeInfo& node,
                                      const ClusterView&) {
  if (tolerates_taints(*pod.pod->spec, *node.node)) return std::nullopt;
  return incurable("node(s) had untolerated taint(s)");
}

std::optional<Refusal> refuse_unmatched(const PodInfo& pod, const NodeInfo& node,
                                        const ClusterView&) {
  if (matches_node(*pod.pod->spec, *node.node)) return std::nullopt;
  return incurable("node(s) didn't match Pod's node affinity/selector");
}

std::optional<Refusal> refuse_ports(const PodInfo& pod, const NodeInfo& node, const ClusterView&) {
  if (pod.needs->ports.empty()) return std::nullopt;
  for (const auto& [key, other] : node.pods)
    if (ports_conflict(pod.needs->ports, other.needs->ports))
      return curable("node(s) didn't have free ports for the requested pod ports");
  return std::nullopt;
}

// Every resource that is short is named; "pods" first, then by name.
std::optional<Refusal> refuse_unfit(const PodInfo& pod, const NodeInfo& node, const ClusterView&) {
  Refusal refusal{.curable = true};
  const ResourceList& all = node.node->status.allocatable;
  auto at_all = all.begin(), at_requested = node.requested.begin();
  for (const auto& [name, wanted] : pod.needs->request) {
    if (wanted.zero()) continue;
    const Quantity* has = next_amount(at_all, all, name);
    const Quantity allocatable = has != nullptr ? *has : Quantity();
    Quantity sum = wanted;
    if (const Quantity* used = next_amount(at_requested, node.requested, name)) sum += *used;
    if (sum <= allocatable) continue;
    refusal.reasons.push_back(name == "pods" ? "Too many pods" : "Insufficient " + name);
    if (wanted > allocatable) refusal.curable = false;
  }
  if (refusal.reasons.empty()) return std::nullopt;
  return refusal;
}

bool fits_when_empty(const PodInfo& pod, const Node& node) {
  return std::all_of(pod.needs->request.begin(), pod.needs->request.end(), [&](const auto& wanted) {
    const auto has = node.status.allocatable.find(wanted.first);
    return wanted.second.zero() ||
           (has != node.status.allocatable.end() && wanted.second <= has->second);
  });
}

bool room_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  if (event.kind == Kind::pod_freed) return true;
  if (event.kind == Kind::node_added) return fits_when_empty(pod, *event.node_after);
  return event.kind == Kind::node_changed && fits_when_empty(pod, *event.node_after) &&
         !equal(event.node_before->status.allocatable, event.node_after->status.allocatable);
}

bool labels_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  return node_became(event, [&](const Node& n) { return matches_node(*pod.pod->spec, n); });
}

bool uncordon_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  if (tolerations_changed(event)) return true;
  return node_became(event, [&](const Node& n) {
    return !n.spec.unschedulable || tolerates_cordon(*pod.pod->spec);
  });
}

bool taints_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  if (tolerations_changed(event)) return true;
  return node_became(event, [&](const Node& n) { return tolerates_taints(*pod.pod->spec, n); });
}

bool ports_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  if (event.kind == Kind::node_added) return true;
  return event.kind == Kind::pod_freed &&
         ports_conflict(pod.needs->ports, PodNeeds(*event.pod_before->spec).ports);
}

constexpr std::array table{
    Filter{"NodeAffinity", refuse_unnamed, labels_may_help},
    Filter{"NodeUnschedulable", refuse_cordoned, uncordon_may_help},
    Filter{"TaintToleration", refuse_tainted, taints_may_help},
    Filter{"NodeAffinity", refuse_unmatched, labels_may_help},
    Filter{"NodePorts", refuse_ports, ports_may_help},
    Filter{"NodeResourcesFit", refuse_unfit, room_may_help},
    Filter{"VolumeRestrictions", refuse_exclusive, exclusive_may_help},
    Filter{volume_binding, refuse_volumes, volumes_may_help},
    Filter{"PodTopologySpread", refuse_skew, spread_may_help},
    Filter{"InterPodAffinity", refuse_neighbours, neighbours_may_help},
};

}  // namespace

std::span<const Filter> filters() { return table; }

std::optional<Refusal> refusal_of(const PodInfo& pod, const NodeInfo& node,
                                  const ClusterView& view) {
  for (const Filter& filter : table)
    if (auto refusal = filter.refuse(pod, node, view)) {
      refusal->filter = filter.name;
      return refusal;
    }
  return std::nullopt;
}

}  // namespace ddptwin::scheduler
