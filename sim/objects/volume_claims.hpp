// core/v1 PersistentVolumeClaim, and the templates of claims in other objects.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

// v1.VolumeResourceRequirements
struct ClaimResources {
  Cow<ResourceList> limits{};
  Cow<ResourceList> requests{};
  static const Type& type();
};
struct PersistentVolumeClaimSpec {
  std::vector<std::string> accessModes{};
  std::optional<LabelSelector> selector{};
  ClaimResources resources{};
  std::string volumeName{};
  std::optional<std::string> storageClassName{};  // "" asks for a volume without a class
  std::optional<std::string> volumeMode{};
  RawJson dataSource{};
  RawJson dataSourceRef{};
  std::optional<std::string> volumeAttributesClassName{};
  static const Type& type();
};
struct PersistentVolumeClaimStatus {
  std::string phase{};  // Pending, Bound, Lost
  std::vector<std::string> accessModes{};
  Cow<ResourceList> capacity{};
  std::vector<Condition> conditions{};
  RawJson allocatedResources{};
  RawJson allocatedResourceStatuses{};
  std::optional<std::string> currentVolumeAttributesClassName{};
  RawJson modifyVolumeStatus{};
  static const Type& type();
};
struct PersistentVolumeClaim final : ObjectOf<PersistentVolumeClaim> {
  PersistentVolumeClaimSpec spec{};
  PersistentVolumeClaimStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// An element of a StatefulSet's volumeClaimTemplates: a whole claim, kind and all.
struct ClaimTemplate {
  std::string kind{};
  std::string apiVersion{};
  ObjectMeta metadata{};
  PersistentVolumeClaimSpec spec{};
  PersistentVolumeClaimStatus status{};
  Extra extra{};
  static const Type& type();
};

// What a claim may ask of a volume, and a volume offer.
const std::vector<std::string_view>& access_modes();

// What the server fills into a claim, wherever it stands.
void default_claim(PersistentVolumeClaimSpec& spec, PersistentVolumeClaimStatus& status);

// Held by a claim until no pod uses it any more (admission StorageObjectInUseProtection and
// kube-controller-manager's pvc-protection-controller).
inline constexpr std::string_view claim_protection_finalizer = "kubernetes.io/pvc-protection";

}  // namespace ddptwin
