#include "cluster/scheduler/cluster_view.hpp"

#include "cluster/kubelet/resources.hpp"

namespace ddptwin::scheduler {
namespace {

bool is_sidecar(const Container& container) { return container.restartPolicy == "Always"; }

void add_ports(const Container& container, std::vector<HostPort>& ports) {
  for (const ContainerPort& port : container.ports)
    if (port.hostPort > 0)
      ports.push_back({port.hostIP.empty() ? "0.0.0.0" : port.hostIP,
                       port.protocol.empty() ? "TCP" : port.protocol, port.hostPort});
}

std::vector<HostPort> host_ports(const PodSpec& spec) {
  std::vector<HostPort> ports;
  for (const Container& container : spec.initContainers)
    if (is_sidecar(container)) add_ports(container, ports);
  for (const Container& container : spec.containers) add_ports(container, ports);
  return ports;
}

}  // namespace

bool has_ended(const Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

PodInfo::PodInfo(PodPtr p)
    : pod(std::move(p)),
      request(kubelet::pod_requests(*pod->spec)),
      ports(host_ports(*pod->spec)),
      priority(pod->spec->priority.value_or(0)) {
  for (const auto& [name, amount] : pod->spec->overhead) request[name] += amount;
  request.insert_or_assign("pods", Quantity::of(1));
}

void NodeInfo::add(const std::string& key, PodInfoPtr pod) {
  for (const auto& [name, amount] : pod->request) requested[name] += amount;
  pods.emplace(key, std::move(pod));
}

void NodeInfo::remove(const std::string& key) {
  const auto found = pods.find(key);
  if (found == pods.end()) return;
  for (const auto& [name, amount] : found->second->request) requested[name] -= amount;
  pods.erase(found);
}

void ClusterView::put_node(std::shared_ptr<const Node> node) {
  const std::string name = node->metadata.name;
  nodes_[name].node = std::move(node);
}

void ClusterView::drop_node(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  found->second.node = nullptr;
  if (found->second.pods.empty()) nodes_.erase(found);
}

void ClusterView::put_pod(const PodPtr& pod) {
  const std::string key = key_of(pod->metadata);
  drop_pod(key);
  if (has_ended(*pod)) return;
  if (!pod->spec->nodeName.empty())
    try_add(pod->spec->nodeName, std::make_shared<const PodInfo>(pod));
  else if (!pod->status.nominatedNodeName.empty())
    nominate(std::make_shared<const PodInfo>(pod), pod->status.nominatedNodeName);
}

void ClusterView::drop_pod(const std::string& key) {
  nominated_.erase(key);
  if (const auto found = node_of_.find(key); found != node_of_.end()) {
    const std::string node = found->second;
    try_remove(node, key);
  }
}

void ClusterView::nominate(const PodInfoPtr& pod, const std::string& node) {
  const std::string key = key_of(pod->pod->metadata);
  nominated_.erase(key);
  if (!node.empty()) nominated_.emplace(key, std::pair(pod, node));
}

void ClusterView::put_namespace(const std::string& name, StringMap labels) {
  namespaces_.insert_or_assign(name, std::move(labels));
}

std::vector<const NodeInfo*> ClusterView::nodes() const {
  std::vector<const NodeInfo*> found;
  for (const auto& [name, node] : nodes_)
    if (node.node) found.push_back(&node);
  return found;
}

const NodeInfo* ClusterView::find(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.node ? &found->second : nullptr;
}

std::vector<PodInfoPtr> ClusterView::nominated_to(const std::string& node,
                                                  const PodInfo& but) const {
  std::vector<PodInfoPtr> found;
  for (const auto& [key, nominated] : nominated_)
    if (nominated.second == node && nominated.first->pod->metadata.uid != but.pod->metadata.uid)
      found.push_back(nominated.first);
  return found;
}

const StringMap* ClusterView::namespace_labels(const std::string& name) const {
  const auto found = namespaces_.find(name);
  return found != namespaces_.end() ? &found->second : nullptr;
}

bool ClusterView::empty() const {
  for (const auto& [name, node] : nodes_)
    if (node.node) return false;
  return true;
}

void ClusterView::try_add(const std::string& node, const PodInfoPtr& pod) {
  const std::string key = key_of(pod->pod->metadata);
  node_of_.insert_or_assign(key, node);
  nodes_[node].add(key, pod);
}

void ClusterView::try_remove(const std::string& node, const std::string& key) {
  node_of_.erase(key);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  found->second.remove(key);
  if (!found->second.node && found->second.pods.empty()) nodes_.erase(found);
}

}  // namespace ddptwin::scheduler
