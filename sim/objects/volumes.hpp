// core/v1 PersistentVolume and storage.k8s.io/v1 StorageClass, and which volume a claim may have:
// the part that the scheduler and the binder share (upstream: component-helpers/storage/volume).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "objects/volume_claims.hpp"

namespace ddptwin {

struct VolumeNodeAffinity {
  std::optional<NodeSelector> required{};
  static const Type& type();
};
struct PersistentVolumeSpec {
  Cow<ResourceList> capacity{};
  // Where its content lies: one of these. What is not of this machine is kept as it was written.
  std::optional<HostPathVolume> hostPath{};
  RawJson local{};
  RawJson nfs{};
  RawJson csi{};
  RawJson awsElasticBlockStore{};
  RawJson azureDisk{};
  RawJson azureFile{};
  RawJson cephfs{};
  RawJson cinder{};
  RawJson fc{};
  RawJson flexVolume{};
  RawJson flocker{};
  RawJson gcePersistentDisk{};
  RawJson glusterfs{};
  RawJson iscsi{};
  RawJson photonPersistentDisk{};
  RawJson portworxVolume{};
  RawJson quobyte{};
  RawJson rbd{};
  RawJson scaleIO{};
  RawJson storageos{};
  RawJson vsphereVolume{};
  std::vector<std::string> accessModes{};
  std::optional<ObjectReference> claimRef{};
  std::string persistentVolumeReclaimPolicy{};  // Retain, Delete, Recycle
  std::string storageClassName{};
  std::vector<std::string> mountOptions{};
  std::optional<std::string> volumeMode{};
  std::optional<VolumeNodeAffinity> nodeAffinity{};
  std::optional<std::string> volumeAttributesClassName{};
  static const Type& type();
};
struct PersistentVolumeStatus {
  std::string phase{};  // Pending, Available, Bound, Released, Failed
  std::string message{};
  std::string reason{};
  OptionalTime lastPhaseTransitionTime{};
  static const Type& type();
};
struct PersistentVolume final : ObjectOf<PersistentVolume> {
  PersistentVolumeSpec spec{};
  PersistentVolumeStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct StorageClass final : ObjectOf<StorageClass> {
  std::string provisioner{};
  Cow<StringMap> parameters{};
  std::optional<std::string> reclaimPolicy{};
  std::vector<std::string> mountOptions{};
  std::optional<bool> allowVolumeExpansion{};
  std::optional<std::string> volumeBindingMode{};  // Immediate, WaitForFirstConsumer
  // Each demands of a node what its matchLabelExpressions ({key, values}) say.
  RawJson allowedTopologies{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

using ClaimPtr = std::shared_ptr<const PersistentVolumeClaim>;
using VolumePtr = std::shared_ptr<const PersistentVolume>;
using StorageClassPtr = std::shared_ptr<const StorageClass>;

// Held by a volume until no claim is bound to it (kube-controller-manager's
// pv-protection-controller).
inline constexpr std::string_view volume_protection_finalizer = "kubernetes.io/pv-protection";
// What the binder and the scheduler write into annotations, as upstream calls them.
inline constexpr std::string_view bind_completed = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view bound_by_controller = "pv.kubernetes.io/bound-by-controller";
inline constexpr std::string_view provisioned_by = "pv.kubernetes.io/provisioned-by";
inline constexpr std::string_view storage_provisioner = "volume.kubernetes.io/storage-provisioner";
inline constexpr std::string_view selected_node = "volume.kubernetes.io/selected-node";
// Of a StorageClass: claims that name none get this one.
inline constexpr std::string_view is_default_class = "storageclass.kubernetes.io/is-default-class";
inline constexpr std::string_view no_provisioner = "kubernetes.io/no-provisioner";

// Null: there is none.
const Text* annotation(const Object& object, std::string_view key);

// Of a capacity, or of what a claim requests; 0: it says nothing.
Quantity storage_of(const Cow<ResourceList>& amounts);
// The class that it asks for; empty: none.
std::string_view class_of(const PersistentVolumeClaim& claim);
// It names its volume, and the binder has said that this is done.
bool is_fully_bound(const PersistentVolumeClaim& claim);
// The volume is the claim's, or kept for it by name.
bool is_kept_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
// The volume with the claim in its claimRef, unless it is some claim's already.
std::shared_ptr<PersistentVolume> kept_for(const PersistentVolume& volume,
                                           const PersistentVolumeClaim& claim);
// The class waits with binding until the scheduler has chosen a node. Null waits for nobody.
bool waits_for_consumer(const StorageClass* storage_class);
bool marks_default(const StorageClass& storage_class);
// Of several default classes the newest, of those as old the first by name; null: there is none.
StorageClassPtr default_class(const std::vector<StorageClassPtr>& classes);

// What keeps the claim from a free volume that it names; empty: nothing.
std::string mismatch_of(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// Who looks for a volume.
struct VolumeSearch {
  // Only volumes that are kept for the claim: the scheduler is to choose among the others.
  bool kept_only = false;
  // Of a node that the pod may go to: whether the volume can be used there.
  std::function<bool(const PersistentVolume&)> reaches{};
  // Already given to another claim of the same pod.
  std::vector<const PersistentVolume*> taken{};
};
// The one kept for the claim; of the others that are large enough the smallest, of those the first
// in the order of `volumes`. Null: there is none.
VolumePtr find_volume(const PersistentVolumeClaim& claim, const std::vector<VolumePtr>& volumes,
                      const VolumeSearch& search);

}  // namespace ddptwin
