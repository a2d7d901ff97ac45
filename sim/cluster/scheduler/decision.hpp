// Where one pod goes, or why nowhere. Pure (spec/kubernetes.md §3.1, §3.2).
#pragma once

#include <string>
#include <vector>

#include "cluster/scheduler/filters.hpp"

namespace ddptwin::scheduler {

struct NodeRefusal {
  const NodeInfo* node;  // of the view that was asked
  Refusal refusal;
};

struct Decision {
  std::string node{};                   // empty: none fits
  std::vector<NodeRefusal> refusals{};  // where none fits: of all, in the order of their names
  // What refused it before any node was looked at, in words; the nodes then give no reasons.
  std::string rejected{};
};

// Of the nodes that fit the one of the highest score; of equal ones the first by name, where the
// real scheduler throws a dice. A node the pod was promised (nominatedNodeName) is taken whenever
// it fits.
Decision decide(const PodInfo& pod, const ClusterView& view);

// Fits, and would still if those who were promised the node and come before this pod were there.
std::optional<Refusal> refusal_with_nominated(const PodInfo& pod, const NodeInfo& node,
                                              const ClusterView& view);

// "0/4 nodes are available: 4 Insufficient cpu." out of each node's reasons.
std::string availability_text(std::size_t nodes, const std::vector<std::string>& reasons);
std::string availability_text(const Decision& decision);
std::vector<std::string> reasons_of(const std::vector<NodeRefusal>& refusals);

}  // namespace ddptwin::scheduler
