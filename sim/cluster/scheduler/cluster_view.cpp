#include "cluster/scheduler/cluster_view.hpp"

#include "cluster/kubelet/resources.hpp"
#include "cluster/scheduler/matching.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::scheduler {
namespace {

// What scoring counts for a pod that requests nothing (upstream GetNonzeroRequests).
constexpr std::int64_t cpu_default = 100, memory_default = 200LL * 1024 * 1024 * 1000;

std::int64_t milli_or(const ResourceList& request, std::string_view name, std::int64_t otherwise) {
  const auto found = request.find(name);
  return found == request.end() || found->second.zero() ? otherwise : found->second.milli_value();
}

bool is_plain_spec(const PodSpec& spec) {
  return spec.nodeSelector.empty() && !spec.affinity && spec.topologySpreadConstraints.empty();
}

// Amounts as text that two nodes share where they have the same; zero is as good as absent.
void write_amounts(std::string& text, const ResourceList& amounts) {
  for (const auto& [name, amount] : amounts) {
    if (amount.zero()) continue;
    const int128 nanos = amount.nanos();
    text += name;
    text.append(reinterpret_cast<const char*>(&nanos), sizeof nanos);
  }
  text += '\n';
}

std::string key_of_object(const Node& node) {
  std::string text = node.spec.unschedulable ? "u" : "s";
  for (const Taint& taint : node.spec.taints)
    text += taint.key + '\n' + taint.value + '\n' + taint.effect + '\n';
  text += '\n';
  write_amounts(text, node.status.allocatable);
  return text;
}

std::string class_key(const NodeInfo& info) {
  constexpr std::size_t room_of_one = 40;  // guessed: a resource's name and its amount
  std::string text;
  text.reserve(info.object_alike.size() + (info.requested.size() + 1) * room_of_one);
  text += info.object_alike;
  write_amounts(text, info.requested);
  for (const std::int64_t used : {info.score_cpu, info.score_memory})
    text.append(reinterpret_cast<const char*>(&used), sizeof used);
  return text;
}

// Whether a pod needs what another does, told at a glance: what PodNeeds reads is the same memory,
// or nothing. Such are the specifications of a pod before and after it is bound, and of one job's
// pods.
bool surely_needs(const PodSpec& spec, const PodNeeds& needs, const PodSpec& of) {
  return kubelet::surely_ask_the_same(spec, of) && spec.affinity.same_as(of.affinity) &&
         spec.overhead.empty() && of.overhead.empty() && *spec.nodeSelector == *of.nodeSelector &&
         spec.topologySpreadConstraints.empty() && of.topologySpreadConstraints.empty() &&
         needs.ports.empty() && host_ports(spec).empty();
}

}  // namespace

bool has_ended(const Pod& pod) { return is_terminal_phase(pod.status.phase); }

PodNeeds::PodNeeds(const PodSpec& spec)
    : request(*kubelet::pod_requests(spec)), ports(host_ports(spec)) {
  for (const auto& [name, amount] : spec.overhead) request[name] += amount;
  request.insert_or_assign("pods", Quantity::of(1));
  score_cpu = milli_or(request, "cpu", cpu_default);
  score_memory = milli_or(request, "memory", memory_default);
  avoids_others = !required_anti_affinity(spec).empty();
  plain = is_plain_spec(spec) && ports.empty();
}

std::shared_ptr<const PodNeeds> KnownNeeds::of(const Cow<PodSpec>& spec) const {
  if (needs && (spec.same_as(known_of) || surely_needs(*spec, *needs, *known_of))) return needs;
  PodNeeds found(*spec);
  return needs && found == *needs ? needs : std::make_shared<const PodNeeds>(std::move(found));
}

PodInfo::PodInfo(PodPtr p, const KnownNeeds& like)
    : pod(std::move(p)), needs(like.of(pod->spec)), priority(pod->spec->priority.value_or(0)) {}

void NodeInfo::add(const std::string& key, PodInfoPtr pod) {
  for (const auto& [name, amount] : pod->needs->request) requested[name] += amount;
  score_cpu += pod->needs->score_cpu;
  score_memory += pod->needs->score_memory;
  pods.emplace(key, std::move(pod));
}

void NodeInfo::remove(const std::string& key) {
  const auto found = pods.find(key);
  if (found == pods.end()) return;
  const PodNeeds& needs = *found->second->needs;
  for (const auto& [name, amount] : needs.request) requested[name] -= amount;
  score_cpu -= needs.score_cpu;
  score_memory -= needs.score_memory;
  pods.erase(found);
}

void ClusterView::declassify(const std::string& name, NodeInfo& node) {
  if (!node.node) return;
  const auto found = classes_.find(node.alike);
  if (found == classes_.end()) return;
  found->second.erase(name);
  if (found->second.empty()) classes_.erase(found);
}

void ClusterView::classify(const std::string& name, NodeInfo& node) {
  if (!node.node) return;
  std::string key = class_key(node);
  const auto old = classes_.find(node.alike);
  const bool was_there = old != classes_.end() && old->second.contains(name);
  if (was_there && key == node.alike) return;
  node.alike = std::move(key);
  if (was_there && old->second.size() == 1 && !classes_.contains(node.alike)) {
    // A class of its own before and after: it gets another key.
    auto own = classes_.extract(old);
    own.key() = node.alike;
    classes_.insert(std::move(own));
    return;
  }
  if (was_there) {
    old->second.erase(name);
    if (old->second.empty()) classes_.erase(old);
  }
  classes_[node.alike].insert(name);
}

void ClusterView::put_node(std::shared_ptr<const Node> node) {
  const std::string name = node->metadata.name;
  NodeInfo& info = nodes_[name];
  info.node = std::move(node);
  info.object_alike = key_of_object(*info.node);
  classify(name, info);
}

void ClusterView::drop_node(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  declassify(name, found->second);
  found->second.node = nullptr;
  if (found->second.pods.empty()) nodes_.erase(found);
}

void ClusterView::put_pod(const std::string& key, const PodPtr& pod) {
  const std::string& node = pod->spec->nodeName;
  PodInfoPtr known;
  if (const auto at = node_of_.find(key); at != node_of_.end()) {
    PodInfoPtr& placed = nodes_.find(at->second)->second.pods.find(key)->second;
    known = placed;
    if (at->second == node && !has_ended(*pod)) {
      auto info = std::make_shared<const PodInfo>(pod, *known);
      if (info->needs == known->needs || *info->needs == *known->needs) {
        placed = std::move(info);
        if (!nominated_.empty()) nominated_.erase(key);
        return;
      }
    }
  }
  drop_pod(key);
  if (has_ended(*pod) || (node.empty() && pod->status.nominatedNodeName.empty())) return;
  const auto info =
      known ? std::make_shared<const PodInfo>(pod, *known) : std::make_shared<const PodInfo>(pod);
  if (!node.empty())
    try_add(node, key, info);
  else
    nominate(info, pod->status.nominatedNodeName);
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

void ClusterView::try_add(const std::string& node, const std::string& key, const PodInfoPtr& pod) {
  node_of_.insert_or_assign(key, node);
  NodeInfo& info = nodes_[node];
  info.add(key, pod);
  if (pod->needs->avoids_others) ++avoiding_;
  classify(node, info);
}

void ClusterView::try_remove(const std::string& node, const std::string& key) {
  node_of_.erase(key);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  NodeInfo& info = found->second;
  const auto placed = info.pods.find(key);
  if (placed == info.pods.end()) return;
  if (placed->second->needs->avoids_others) --avoiding_;
  info.remove(key);
  classify(node, info);
  if (!info.node && info.pods.empty()) nodes_.erase(found);
}

}  // namespace ddptwin::scheduler
