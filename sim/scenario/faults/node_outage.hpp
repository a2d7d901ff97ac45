// A node that is gone for a while, and what the cluster makes of it: the part of the node
// life-cycle controller that a silent kubelet sets in motion (spec/kubernetes.md §2.12). Whom its
// taints evict is TaintEviction's.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/loop.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::scenario {

// One outage of one node, from its making to return_back(). It touches the API as
// kube-controller-manager, whether or not that process runs, nothing else; what becomes of the
// kubelet, the containers and the network is its owner's. Stays where it was made.
class NodeOutage {
 public:
  // The world outlives it.
  NodeOutage(World& world, Lane lane, std::string node);
  NodeOutage(const NodeOutage&) = delete;

  // The Node object goes too, and a new one comes back.
  void remove_node();
  // The kubelet is about to be back: the Node is Ready and without taints of its own at once, so
  // that pods whose eviction was pending stay.
  void return_back();

  // Addresses of the node's pods when it went.
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  void unknown();
  void mark_node();
  void mark_pods();
  bool others_ready() const;
  void taint_the_silent(bool evict) const;
  std::vector<std::shared_ptr<const Pod>> pods() const;

  World& world_;
  Lane lane_;
  std::string node_;
  bool deleted_ = false;
  std::vector<std::string> addresses_{};
  Timer unknown_{};
};

}  // namespace ddptwin::scenario
