#include "controller/manager/statefulset/claims.hpp"

#include <algorithm>

#include "controller/manager/statefulset/pods.hpp"
#include "controller/toolkit/ownership.hpp"

namespace ddptwin::controller::statefulset {
namespace {

bool refers_to(const OwnerReference& reference, const Object& object) {
  return reference.uid == object.metadata.uid;
}

bool has_owner(const PersistentVolumeClaim& claim, const Object& owner) {
  const auto& owners = claim.metadata.ownerReferences;
  return std::any_of(owners.begin(), owners.end(),
                     [&](const OwnerReference& one) { return refers_to(one, owner); });
}

// Who is to own the claim of that pod.
struct Wanted {
  bool by_set = false, by_pod = false;
};
Wanted wanted_owners(const StatefulSet& set, const Pod& pod) {
  const auto& policy = set.spec->persistentVolumeClaimRetentionPolicy;
  if (!policy) return {};
  const auto place = place_of(pod.metadata.name);
  const bool is_condemned = !place || !in_range(set, place->ordinal);
  Wanted wanted;
  wanted.by_pod = policy->whenScaled == "Delete" && is_condemned;
  wanted.by_set = policy->whenDeleted == "Delete" && !wanted.by_pod;
  return wanted;
}

// Somebody else's, as its controller or otherwise: nothing is changed.
bool has_foreign_owner(const PersistentVolumeClaim& claim, const StatefulSet& set, const Pod& pod) {
  const auto& owners = claim.metadata.ownerReferences;
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& one) {
    const bool is_ours = refers_to(one, set) || refers_to(one, pod);
    return is_ours ? !one.controller.value_or(false) : one.controller.value_or(false);
  });
}

}  // namespace

std::shared_ptr<PersistentVolumeClaim> new_claim(const StatefulSet& set, const PodClaim& claim) {
  auto made = std::make_shared<PersistentVolumeClaim>();
  made->metadata = claim.wanted->metadata;
  made->metadata.name = claim.name;
  made->metadata.namespace_ = set.metadata.namespace_;
  StringMap& labels = made->metadata.labels.edit();
  if (set.spec->selector)
    for (const auto& [key, value] : set.spec->selector->matchLabels) labels[key] = value;
  made->spec = claim.wanted->spec;
  return made;
}

bool is_stale(const PersistentVolumeClaim& claim, const Pod& pod) {
  const auto& owners = claim.metadata.ownerReferences;
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& one) {
    return one.kind == "Pod" && one.apiVersion == "v1" && one.name == pod.metadata.name &&
           one.uid != pod.metadata.uid;
  });
}

bool owners_match(const PersistentVolumeClaim& claim, const StatefulSet& set, const Pod& pod) {
  if (has_foreign_owner(claim, set, pod)) return true;
  const Wanted wanted = wanted_owners(set, pod);
  return has_owner(claim, set) == wanted.by_set && has_owner(claim, pod) == wanted.by_pod;
}

std::shared_ptr<PersistentVolumeClaim> with_owners(const PersistentVolumeClaim& claim,
                                                   const StatefulSet& set, const Pod& pod) {
  auto changed = std::make_shared<PersistentVolumeClaim>(claim);
  std::vector<OwnerReference> owners = *claim.metadata.ownerReferences;
  std::erase_if(owners, [&](const OwnerReference& one) {
    return refers_to(one, set) || refers_to(one, pod);
  });
  const Wanted wanted = wanted_owners(set, pod);
  if (wanted.by_set) owners.push_back(controller_reference(set));
  if (wanted.by_pod) owners.push_back(controller_reference(pod));
  changed->metadata.ownerReferences = std::move(owners);
  return changed;
}

}  // namespace ddptwin::controller::statefulset
