#include "cluster/scheduler/volumes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cluster/pods/placement.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::scheduler {
namespace {

namespace json = boost::json;

constexpr std::string_view node_conflict = "node(s) didn't match PersistentVolume's node affinity";
constexpr std::string_view bind_conflict =
    "node(s) didn't find available persistent volumes to bind";
constexpr std::string_view volume_is_missing =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

bool reaches(const PersistentVolume& volume, const Node& node) {
  if (!volume.spec.nodeAffinity || !volume.spec.nodeAffinity->required) return true;
  const auto& terms = volume.spec.nodeAffinity->required->nodeSelectorTerms;
  return std::any_of(terms.begin(), terms.end(),
                     [&node](const NodeSelectorTerm& term) { return matches(term, node); });
}

// {key: KEY, values: [VALUE, ...]}
bool meets(const json::value& expression, const Node& node) {
  const auto* members = expression.if_object();
  const auto* key = members != nullptr ? members->if_contains("key") : nullptr;
  const auto* values = members != nullptr ? members->if_contains("values") : nullptr;
  if (key == nullptr || !key->is_string() || values == nullptr || !values->is_array()) return false;
  const Text* label = node.metadata.label(std::string_view(key->as_string()));
  const auto& all = values->as_array();
  return label != nullptr && std::any_of(all.begin(), all.end(), [label](const json::value& value) {
           return value.is_string() && std::string_view(value.as_string()) == label->view();
         });
}

bool is_allowed(const StorageClass& its_class, const Node& node) {
  const json::value* topologies = its_class.allowedTopologies.get();
  if (topologies == nullptr || !topologies->is_array() || topologies->as_array().empty())
    return true;
  const auto& all = topologies->as_array();
  return std::any_of(all.begin(), all.end(), [&node](const json::value& one) {
    const auto* members = one.if_object();
    const auto* list = members != nullptr ? members->if_contains("matchLabelExpressions") : nullptr;
    if (list == nullptr || !list->is_array()) return true;
    return std::all_of(list->as_array().begin(), list->as_array().end(),
                       [&node](const json::value& expression) { return meets(expression, node); });
  });
}

bool may_provision(const PersistentVolumeClaim& claim, const Node& node, const VolumeView& view) {
  const StorageClassPtr its_class = view.class_named(class_of(claim));
  return its_class && its_class->provisioner != no_provisioner && is_allowed(*its_class, node);
}

// The claims that wait for a node, the smallest first; `bound` gets the others.
std::vector<ClaimPtr> unbound_claims(const Pod& pod, const VolumeView& view,
                                     std::vector<ClaimPtr>* bound) {
  std::vector<ClaimPtr> unbound;
  for (const std::string& name : claims_of(*pod.spec)) {
    ClaimPtr claim = view.claim(pod.metadata.namespace_, name);
    if (!claim) continue;
    if (!is_fully_bound(*claim))
      unbound.push_back(std::move(claim));
    else if (bound != nullptr)
      bound->push_back(std::move(claim));
  }
  std::stable_sort(unbound.begin(), unbound.end(), [](const ClaimPtr& a, const ClaimPtr& b) {
    return storage_of(a->spec.resources.requests) < storage_of(b->spec.resources.requests);
  });
  return unbound;
}

// Nothing: a claim finds no volume, and none can be made, for that node.
std::optional<VolumeWork> work_on(const std::vector<ClaimPtr>& unbound, const Node& node,
                                  const VolumeView& view) {
  VolumeWork work;
  if (unbound.empty()) return work;
  std::vector<VolumePtr> volumes;
  for (const auto& [name, volume] : view.volumes) volumes.push_back(volume);
  VolumeSearch search{.reaches = [&node](const auto& volume) { return reaches(volume, node); }};
  for (const ClaimPtr& claim : unbound) {
    if (const Text* chosen = annotation(*claim, selected_node)) {
      if (*chosen != node.metadata.name || !may_provision(*claim, node, view)) return std::nullopt;
      work.provisions.push_back(claim);
    } else if (VolumePtr found = find_volume(*claim, volumes, search)) {
      search.taken.push_back(found.get());
      work.bindings.emplace_back(claim, std::move(found));
    } else if (may_provision(*claim, node, view)) {
      work.provisions.push_back(claim);
    } else {
      return std::nullopt;
    }
  }
  return work;
}

// Both of one object. Versions count up, without a zero in front.
bool is_older(const Object& one, const Object& other) {
  const std::string_view a = one.metadata.resourceVersion, b = other.metadata.resourceVersion;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

ClaimsProgress failed(std::string problem) { return {ClaimsState::failed, std::move(problem)}; }
ClaimsProgress not_there(const Object& object) {
  return failed(fmt::format("could not find {}.{} \"{}\"", object.kind().version,
                            object.kind().kind, key_of(object.metadata)));
}
ClaimsProgress cannot_reach(const PersistentVolume& volume, const Node& node) {
  return failed(fmt::format(
      "pv \"{}\" node affinity doesn't match node \"{}\": no matching NodeSelectorTerms",
      volume.metadata.name, node.metadata.name));
}

ClaimsProgress progress_of_binding(const PersistentVolumeClaim& wanted,
                                   const PersistentVolume& written, const Node& node,
                                   const VolumeView& view) {
  const VolumePtr volume = view.volume(written.metadata.name);
  if (!volume) return not_there(written);
  const ClaimPtr claim = view.claim(wanted.metadata.namespace_, wanted.metadata.name);
  if (!claim) return not_there(wanted);
  if (is_older(*volume, written)) return {ClaimsState::waiting};
  if (!reaches(*volume, node)) return cannot_reach(*volume, node);
  if (!volume->spec.claimRef || volume->spec.claimRef->uid.empty())
    return failed(fmt::format("ClaimRef got reset for pv \"{}\"", volume->metadata.name));
  return {is_fully_bound(*claim) ? ClaimsState::bound : ClaimsState::waiting};
}

ClaimsProgress progress_of_provision(const PersistentVolumeClaim& written, const Node& node,
                                     const VolumeView& view) {
  const std::string_view name = written.metadata.name;
  const ClaimPtr claim = view.claim(written.metadata.namespace_, name);
  if (!claim) return not_there(written);
  if (is_older(*claim, written)) return {ClaimsState::waiting};
  // A provisioner that fails takes it away.
  const Text* chosen = annotation(*claim, selected_node);
  if (chosen == nullptr || *chosen != node.metadata.name)
    return failed(fmt::format("provisioning failed for PVC \"{}\"", name));
  const VolumePtr volume = view.volume(claim->spec.volumeName);
  if (volume && !reaches(*volume, node)) return cannot_reach(*volume, node);
  return {volume && is_fully_bound(*claim) ? ClaimsState::bound : ClaimsState::waiting};
}

}  // namespace

ClaimPtr VolumeView::claim(std::string_view namespace_, std::string_view name) const {
  const auto found = claims.find(fmt::format("{}/{}", namespace_, name));
  return found == claims.end() ? nullptr : found->second;
}

VolumePtr VolumeView::volume(std::string_view name) const {
  const auto found = volumes.find(name);
  return found == volumes.end() ? nullptr : found->second;
}

StorageClassPtr VolumeView::class_named(std::string_view name) const {
  const auto found = classes.find(name);
  return found == classes.end() ? nullptr : found->second;
}

std::vector<std::string> claims_of(const PodSpec& spec) {
  std::vector<std::string> names;
  for (const Volume& volume : spec.volumes)
    if (volume.persistentVolumeClaim) names.push_back(volume.persistentVolumeClaim->claimName);
  return names;
}

bool uses_claim(const Pod& pod, const PersistentVolumeClaim& claim) {
  const auto names = claims_of(*pod.spec);
  return pod.metadata.namespace_ == claim.metadata.namespace_ &&
         std::find(names.begin(), names.end(), claim.metadata.name.view()) != names.end();
}

std::string refusal_of_claims(const Pod& pod, const VolumeView& view) {
  bool is_unbound = false;
  for (const std::string& name : claims_of(*pod.spec)) {
    const ClaimPtr claim = view.claim(pod.metadata.namespace_, name);
    if (!claim) return fmt::format("persistentvolumeclaim \"{}\" not found", name);
    if (claim->status.phase == "Lost")
      return fmt::format(
          "persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"", name,
          claim->spec.volumeName);
    if (claim->metadata.deletionTimestamp)
      return fmt::format("persistentvolumeclaim \"{}\" is being deleted", name);
    const bool waits = claim->spec.volumeName.empty() &&
                       waits_for_consumer(view.class_named(class_of(*claim)).get());
    is_unbound = is_unbound || (!is_fully_bound(*claim) && !waits);
  }
  return is_unbound ? "pod has unbound immediate PersistentVolumeClaims" : "";
}

std::vector<std::string> reasons_of_volumes(const Pod& pod, const Node& node,
                                            const VolumeView& view) {
  std::vector<ClaimPtr> bound;
  const std::vector<ClaimPtr> unbound = unbound_claims(pod, view, &bound);
  bool are_there = true, are_reached = true;
  for (const ClaimPtr& claim : bound) {
    const VolumePtr volume = view.volume(claim->spec.volumeName);
    are_there = are_there && volume;
    are_reached = are_reached && (!volume || reaches(*volume, node));
  }
  std::vector<std::string> reasons;
  if (!are_reached) reasons.emplace_back(node_conflict);
  if (!work_on(unbound, node, view)) reasons.emplace_back(bind_conflict);
  if (!are_there) reasons.emplace_back(volume_is_missing);
  return reasons;
}

VolumeWork volume_work(const Pod& pod, const Node& node, const VolumeView& view) {
  return work_on(unbound_claims(pod, view, nullptr), node, view).value_or(VolumeWork());
}

void note_written(VolumeWork& work, const ObjectPtr& written) {
  if (const VolumePtr volume = as<PersistentVolume>(written)) {
    for (auto& [claim, known] : work.bindings)
      if (known->metadata.name == volume->metadata.name) known = volume;
  } else if (const ClaimPtr claim = as<PersistentVolumeClaim>(written)) {
    for (ClaimPtr& known : work.provisions)
      if (key_of(known->metadata) == key_of(claim->metadata)) known = claim;
  }
}

// As upstream's checkBindings(): one that waits is waited for before the next is looked at.
ClaimsProgress progress_of_work(const VolumeWork& work, const Node& node, const VolumeView& view) {
  for (const auto& [claim, volume] : work.bindings)
    if (ClaimsProgress progress = progress_of_binding(*claim, *volume, node, view);
        progress.state != ClaimsState::bound)
      return progress;
  for (const ClaimPtr& claim : work.provisions)
    if (ClaimsProgress progress = progress_of_provision(*claim, node, view);
        progress.state != ClaimsState::bound)
      return progress;
  return {};
}

std::shared_ptr<PersistentVolumeClaim> with_node(const PersistentVolumeClaim& claim,
                                                 const std::string& node) {
  auto chosen = std::make_shared<PersistentVolumeClaim>(claim);
  chosen->metadata.annotations.edit()[selected_node] = node;
  return chosen;
}

}  // namespace ddptwin::scheduler
