#include "cluster/scheduler/cluster_view.hpp"

#include <optional>
#include <utility>

#include "cluster/pods/resources.hpp"
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

// What is asked for, added to or taken from what is there.
template <class Change>
void change_amounts(ResourceList& amounts, const ResourceList& request, const Change& change) {
  auto at = amounts.begin();
  for (const auto& [name, amount] : request) {  // both in the order of their names
    while (at != amounts.end() && at->first < name) ++at;
    if (at == amounts.end() || at->first != name) at = amounts.emplace_hint(at, name, Quantity());
    change(at->second, amount);
  }
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
         needs.ports.empty() && host_ports(spec).empty() && needs.claims.empty() &&
         claims_of(spec).empty();
}

}  // namespace

bool has_ended(const Pod& pod) { return is_terminal_phase(pod.status.phase); }

PodNeeds::PodNeeds(const PodSpec& spec)
    : request(*kubelet::pod_requests(spec)), ports(host_ports(spec)), claims(claims_of(spec)) {
  for (const auto& [name, amount] : spec.overhead) request[name] += amount;
  request.insert_or_assign("pods", Quantity::of(1));
  score_cpu = milli_or(request, "cpu", cpu_default);
  score_memory = milli_or(request, "memory", memory_default);
  avoids_others = !required_anti_affinity(spec).empty();
  plain = is_plain_spec(spec) && ports.empty() && claims.empty();
}

std::shared_ptr<const PodNeeds> KnownNeeds::of(const Cow<PodSpec>& spec) const {
  if (needs && (spec.same_as(known_of) || surely_needs(*spec, *needs, *known_of))) return needs;
  PodNeeds found(*spec);
  return needs && found == *needs ? needs : std::make_shared<const PodNeeds>(std::move(found));
}

PodInfo::PodInfo(PodPtr p, const KnownNeeds& like)
    : pod(std::move(p)),
      spec(&*pod->spec),
      needs(like.of(pod->spec)),
      priority(pod->spec->priority.value_or(0)) {}

void NodeInfo::add(const std::string& key, const PodInfo& pod) {
  change_amounts(requested, pod.needs->request,
                 [](Quantity& sum, const Quantity& amount) { sum += amount; });
  score_cpu += pod.needs->score_cpu;
  score_memory += pod.needs->score_memory;
  pods.emplace(key, pod);
}

void NodeInfo::remove(const std::string& key) {
  const auto found = pods.find(key);
  if (found == pods.end()) return;
  const PodNeeds& needs = *found->second.needs;
  change_amounts(requested, needs.request,
                 [](Quantity& sum, const Quantity& amount) { sum -= amount; });
  score_cpu -= needs.score_cpu;
  score_memory -= needs.score_memory;
  pods.erase(found);
}

ClusterView::Place ClusterView::place_of(const std::string& node) {
  const auto [known, is_new] = places_.try_emplace(node, infos_.size());
  if (!is_new) return known->second;
  if (unused_.empty()) {
    infos_.emplace_back();
  } else {
    known->second = unused_.back();
    unused_.pop_back();
  }
  infos_[known->second].name = node;
  return known->second;
}

void ClusterView::forget_if_empty(Place place) {
  NodeInfo& info = infos_[place];
  if (info.node || !info.pods.empty()) return;
  places_.erase(info.name);
  info = {};
  unused_.push_back(place);
}

const std::map<std::string, NodeClass>& ClusterView::classes() const {
  for (const Place place : std::exchange(unclassified_, {})) classify(infos_[place]);
  return classes_;
}

void ClusterView::reclassify(Place place) {
  NodeInfo& info = infos_[place];
  if (!info.node || std::exchange(info.unclassified, true)) return;
  unclassified_.push_back(place);
}

void ClusterView::declassify(const NodeInfo& node) const {
  if (!node.node) return;
  const auto found = classes_.find(node.alike);
  if (found == classes_.end()) return;
  found->second.erase(node.name);
  if (found->second.empty()) classes_.erase(found);
}

void ClusterView::classify(const NodeInfo& node) const {
  node.unclassified = false;
  if (!node.node) return;
  std::string key = class_key(node);
  const auto old = classes_.find(node.alike);
  const bool was_there = old != classes_.end() && old->second.contains(node.name);
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
    old->second.erase(node.name);
    if (old->second.empty()) classes_.erase(old);
  }
  classes_[node.alike].insert(node.name);
}

void ClusterView::put_node(std::shared_ptr<const Node> node) {
  const Place place = place_of(node->metadata.name.str());
  NodeInfo& info = infos_[place];
  if (!info.node) ++known_nodes_;
  info.node = std::move(node);
  info.object_alike = key_of_object(*info.node);
  reclassify(place);
}

void ClusterView::drop_node(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) return;
  const Place place = found->second;
  NodeInfo& info = infos_[place];
  if (!info.node) return;
  --known_nodes_;
  declassify(info);
  info.node = nullptr;
  forget_if_empty(place);
}

void ClusterView::put_pod(const std::string& key, const PodPtr& pod) {
  const std::string& node = pod->spec->nodeName;
  std::optional<PodInfo> known;
  if (const auto at = node_of_.find(Fingerprint::of(key)); at != node_of_.end()) {
    NodeInfo& there = infos_[at->second];
    PodInfo& placed = there.pods.find(key)->second;
    if (there.name == node && !has_ended(*pod)) {
      bool stays = placed.spec == &*pod->spec;
      if (stays) {
        placed.pod = pod;  // all else follows from the specification
      } else {
        PodInfo info(pod, placed);
        stays = info.needs == placed.needs || *info.needs == *placed.needs;
        if (stays) placed = std::move(info);
      }
      if (stays) {
        if (!nominated_.empty()) nominated_.erase(key);
        return;
      }
    }
    known = placed;
    const Place place = at->second;
    node_of_.erase(at);
    remove(key, place);
  }
  if (!nominated_.empty()) nominated_.erase(key);
  if (has_ended(*pod) || (node.empty() && pod->status.rest->nominatedNodeName.empty())) return;
  const PodInfo info = known ? PodInfo(pod, *known) : PodInfo(pod);
  if (!node.empty())
    try_add(node, key, info);
  else
    nominate(std::make_shared<const PodInfo>(info), pod->status.rest->nominatedNodeName.str());
}

void ClusterView::drop_pod(const std::string& key) {
  nominated_.erase(key);
  if (const auto found = node_of_.find(Fingerprint::of(key)); found != node_of_.end()) {
    const Place place = found->second;
    node_of_.erase(found);
    remove(key, place);
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
  for (const auto& [name, place] : places_)
    if (infos_[place].node) found.push_back(&infos_[place]);
  return found;
}

const NodeInfo* ClusterView::find(const std::string& node) const {
  const auto found = places_.find(node);
  return found != places_.end() && infos_[found->second].node ? &infos_[found->second] : nullptr;
}

std::vector<PodInfoPtr> ClusterView::nominated_to(std::string_view node, const PodInfo& but) const {
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

void ClusterView::try_add(const std::string& node, const std::string& key, const PodInfo& pod) {
  const Place place = place_of(node);
  node_of_.insert_or_assign(Fingerprint::of(key), place);
  infos_[place].add(key, pod);
  if (pod.needs->avoids_others) ++avoiding_;
  reclassify(place);
}

void ClusterView::try_remove(const std::string& node, const std::string& key) {
  node_of_.erase(Fingerprint::of(key));
  if (const auto found = places_.find(node); found != places_.end()) remove(key, found->second);
}

void ClusterView::remove(const std::string& key, Place place) {
  NodeInfo& info = infos_[place];
  const auto placed = info.pods.find(key);
  if (placed == info.pods.end()) return;
  if (placed->second.needs->avoids_others) --avoiding_;
  info.remove(key);
  reclassify(place);
  forget_if_empty(place);
}

}  // namespace ddptwin::scheduler
