// What the scheduler knows of the cluster: its nodes and what is placed on them. A value.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "objects/core_v1.hpp"

namespace ddptwin::scheduler {

using PodPtr = std::shared_ptr<const Pod>;

struct HostPort {
  std::string ip{};  // 0.0.0.0 where the pod names none
  std::string protocol{};
  std::int32_t port = 0;
};

// A pod with what the filters ask of it, computed once.
struct PodInfo {
  explicit PodInfo(PodPtr pod);
  PodPtr pod;
  ResourceList request;  // effective, with pods: 1
  std::vector<HostPort> ports;
  std::int32_t priority = 0;
};
using PodInfoPtr = std::shared_ptr<const PodInfo>;

struct NodeInfo {
  std::shared_ptr<const Node> node{};        // null: only pods name it
  std::map<std::string, PodInfoPtr> pods{};  // by key; also those that are terminating
  ResourceList requested{};                  // the sum over pods

  void add(const std::string& key, PodInfoPtr pod);
  void remove(const std::string& key);
};

// Pods count from the moment they are placed until they have ended or are gone. A pod that has been
// promised a node (status.nominatedNodeName) is kept apart: it counts there for pods of its own
// priority and below (spec/kubernetes.md §3.1).
class ClusterView {
 public:
  void put_node(std::shared_ptr<const Node> node);
  void drop_node(const std::string& name);
  // By its spec.nodeName. Replaces what was known of that pod.
  void put_pod(const PodPtr& pod);
  void drop_pod(const std::string& key);
  void nominate(const PodInfoPtr& pod, const std::string& node);
  void put_namespace(const std::string& name, StringMap labels);
  void drop_namespace(const std::string& name) { namespaces_.erase(name); }

  // In the order of their names; only those with a Node object.
  std::vector<const NodeInfo*> nodes() const;
  const NodeInfo* find(const std::string& node) const;
  // Those promised the node, but for the pod itself.
  std::vector<PodInfoPtr> nominated_to(const std::string& node, const PodInfo& but) const;
  const StringMap* namespace_labels(const std::string& name) const;
  bool empty() const;

  // For trying what would be: adds or takes away without the pod's own word for it.
  void try_add(const std::string& node, const PodInfoPtr& pod);
  void try_remove(const std::string& node, const std::string& key);

 private:
  std::map<std::string, NodeInfo> nodes_{};
  std::map<std::string, std::string> node_of_{};  // pod key to node
  std::map<std::string, std::pair<PodInfoPtr, std::string>> nominated_{};
  std::map<std::string, StringMap> namespaces_{};
};

bool has_ended(const Pod& pod);

}  // namespace ddptwin::scheduler
