// The claims of a set's pods: made before a pod, kept or handed on to who takes them along
// (spec/kubernetes.md §4, persistentVolumeClaimRetentionPolicy).
#pragma once

#include <vector>

#include "controller/manager/statefulset/names.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin::controller::statefulset {

using ClaimPtr = std::shared_ptr<const PersistentVolumeClaim>;

// One claim of a pod: as its template says it, and as it is.
struct PodClaim {
  std::string name{};
  const ClaimTemplate* wanted = nullptr;
  ClaimPtr present{};  // null: there is none
};

std::shared_ptr<PersistentVolumeClaim> new_claim(const StatefulSet& set, const PodClaim& claim);

// A claim that an earlier pod of that name takes along: no new pod can have it.
bool is_stale(const PersistentVolumeClaim& claim, const Pod& pod);

// Whether the claim is owned as the set's policy says. One that has another controller is let be.
bool owners_match(const PersistentVolumeClaim& claim, const StatefulSet& set, const Pod& pod);
// The claim with the owners that the policy says.
std::shared_ptr<PersistentVolumeClaim> with_owners(const PersistentVolumeClaim& claim,
                                                   const StatefulSet& set, const Pod& pod);

}  // namespace ddptwin::controller::statefulset
