// What the scheduler knows of the cluster: its nodes and what is placed on them. A value.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/pods/placement.hpp"
#include "cluster/scheduler/volumes.hpp"
#include "core/hash.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::scheduler {

using PodPtr = std::shared_ptr<const Pod>;

// What a pod asks for by its specification.
struct PodNeeds {
  explicit PodNeeds(const PodSpec& spec);
  ResourceList request;  // effective, with pods: 1
  std::vector<HostPort> ports;
  std::vector<std::string> claims;               // names
  std::int64_t score_cpu = 0, score_memory = 0;  // thousandths, as scoring counts them
  bool avoids_others = false;                    // required pod anti-affinity
  // Which node it may go to depends on nothing but room, taints and being schedulable.
  bool plain = false;
  bool operator==(const PodNeeds&) const = default;
};

// What some pod asks for, for others that may ask for the same; nothing is known by default.
struct KnownNeeds {
  Cow<PodSpec> known_of{};
  std::shared_ptr<const PodNeeds> needs{};

  // Kept in common where the two ask for the same.
  std::shared_ptr<const PodNeeds> of(const Cow<PodSpec>& spec) const;
};

// A pod with what the filters ask of it, computed once.
struct PodInfo {
  explicit PodInfo(PodPtr p) : PodInfo(std::move(p), KnownNeeds()) {}
  PodInfo(PodPtr p, const KnownNeeds& like);
  // The same pod in another state.
  PodInfo(PodPtr p, const PodInfo& known) : PodInfo(std::move(p), known.known_needs()) {}
  KnownNeeds known_needs() const { return {pod->spec, needs}; }

  PodPtr pod;
  const PodSpec* spec;  // of `pod`, always: another version that has the same is known at sight
  std::shared_ptr<const PodNeeds> needs;
  std::int32_t priority = 0;
};
using PodInfoPtr = std::shared_ptr<const PodInfo>;

struct NodeInfo {
  std::string name{};
  std::shared_ptr<const Node> node{};            // null: only pods name it
  std::map<std::string, PodInfo> pods{};         // by key; also those that are terminating
  ResourceList requested{};                      // the sum over pods
  std::int64_t score_cpu = 0, score_memory = 0;  // likewise
  std::string object_alike{};                    // what its class owes to the Node object
  mutable std::string alike{};                   // of the NodeClass that it was put into
  mutable bool unclassified = false;             // it may belong to another

  void add(const std::string& key, const PodInfo& pod);
  void remove(const std::string& key);
};

// Nodes that cannot be told apart by a plain pod: the same room, taken and left, the same taints.
using NodeClass = std::set<std::string>;  // names

// Pods count from the moment they are placed until they have ended or are gone. A pod that has been
// promised a node (status.nominatedNodeName) is kept apart: it counts there for pods of its
// own priority and below (spec/kubernetes.md §3.1).
class ClusterView {
 public:
  void put_node(std::shared_ptr<const Node> node);
  void drop_node(const std::string& name);
  // By its spec.nodeName. Replaces what was known of that pod.
  void put_pod(const PodPtr& pod) { put_pod(key_of(pod->metadata), pod); }
  void put_pod(const std::string& key, const PodPtr& pod);
  void drop_pod(const std::string& key);
  void nominate(const PodInfoPtr& pod, const std::string& node);
  void put_namespace(const std::string& name, StringMap labels);
  void drop_namespace(const std::string& name) { namespaces_.erase(name); }
  const VolumeView& volumes() const { return *volumes_; }
  VolumeView& edit_volumes() { return volumes_.edit(); }

  // In the order of their names; only those with a Node object.
  std::vector<const NodeInfo*> nodes() const;
  const NodeInfo* find(const std::string& node) const;
  // Those promised the node, but for the pod itself.
  std::vector<PodInfoPtr> nominated_to(std::string_view node, const PodInfo& but) const;
  const StringMap* namespace_labels(const std::string& name) const;
  bool empty() const { return known_nodes_ == 0; }
  // All nodes, in classes. Thousands of nodes are a handful of classes.
  const std::map<std::string, NodeClass>& classes() const;
  // Whether a plain pod need not look at other nodes' pods: nobody is promised a node, nobody
  // avoids others.
  bool is_plain() const { return nominated_.empty() && avoiding_ == 0; }
  // Whether some placed pod has required anti-affinity.
  bool has_avoiding() const { return avoiding_ > 0; }

  // For trying what would be: adds or takes away without the pod's own word for it.
  void try_add(const std::string& node, const PodInfo& pod) {
    try_add(node, key_of(pod.pod->metadata), pod);
  }
  void try_add(const std::string& node, const std::string& key, const PodInfo& pod);
  void try_remove(const std::string& node, const std::string& key);

 private:
  // Where a node lies among infos_. Each pod knows that of its node: to look for a name among
  // thousands is long.
  using Place = std::size_t;

  Place place_of(const std::string& node);  // made where there is none
  // Where nothing is known of the node any more.
  void forget_if_empty(Place place);
  void remove(const std::string& key, Place place);
  // The node may belong to another class from now on.
  void reclassify(Place place);
  // Puts the node into the class that it now belongs to.
  void classify(const NodeInfo& node) const;
  void declassify(const NodeInfo& node) const;

  std::deque<NodeInfo> infos_{};
  std::map<std::string, Place> places_{};  // by name
  std::vector<Place> unused_{};            // of infos_, by nodes that are gone
  std::size_t known_nodes_ = 0;            // with a Node object
  // As of when somebody asked last, and the nodes that may have left theirs since: more pods come
  // and go than are asked for.
  mutable std::map<std::string, NodeClass> classes_{};
  mutable std::vector<Place> unclassified_{};
  std::size_t avoiding_ = 0;  // placed pods that avoid others
  // By pod key. Looked up with each change: flat, for a node by itself would be one more line.
  // Nobody walks it: its order cannot be seen.
  boost::unordered_flat_map<Fingerprint, Place, std::hash<Fingerprint>> node_of_{};
  std::map<std::string, std::pair<PodInfoPtr, std::string>> nominated_{};
  std::map<std::string, StringMap> namespaces_{};
  Cow<VolumeView> volumes_{};  // copies of the view share them
};

bool has_ended(const Pod& pod);

}  // namespace ddptwin::scheduler
