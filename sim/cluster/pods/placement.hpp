// What a pod asks of its node, as the scheduler, a kubelet that admits and the eviction by taints
// all read it (spec/kubernetes.md §2.2, §3.1; upstream component-helpers). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objects/core_v1.hpp"

namespace ddptwin {

// On nodes that are cordoned.
inline constexpr std::string_view taint_unschedulable = "node.kubernetes.io/unschedulable";

bool tolerates(const Toleration& toleration, const Taint& taint);

// The terms of the pod's required node affinity, one of which must match; null: it has none.
const std::vector<NodeSelectorTerm>* required_terms(const PodSpec& pod);
// An empty term matches nothing.
bool matches(const NodeSelectorTerm& term, const Node& node);
// nodeSelector and required node affinity.
bool matches_node(const PodSpec& pod, const Node& node);

// Goes on in amounts, from `at`, to that of a name; names are asked for in their order. Null: there
// is none.
const Quantity* next_amount(ResourceList::const_iterator& at, const ResourceList& amounts,
                            std::string_view name);

struct HostPort {
  std::string ip{};  // 0.0.0.0 where the pod names none
  std::string protocol{};
  std::int32_t port = 0;
  bool operator==(const HostPort&) const = default;
};
// Of all that runs as long as the pod does (upstream scheduler/util GetHostPorts).
std::vector<HostPort> host_ports(const PodSpec& pod);
bool ports_conflict(const std::vector<HostPort>& wanted, const std::vector<HostPort>& taken);

}  // namespace ddptwin
