#include "objects/volumes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/fields.hpp"
#include "objects/finalizers.hpp"
#include "objects/kinds.hpp"
#include "objects/object_reference.hpp"
#include "objects/selector.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

PersistentVolume& volume_in(Object& object) { return static_cast<PersistentVolume&>(object); }
const PersistentVolume& volume_in(const Object& object) {
  return static_cast<const PersistentVolume&>(object);
}
StorageClass& class_in(Object& object) { return static_cast<StorageClass&>(object); }
const StorageClass& class_in(const Object& object) {
  return static_cast<const StorageClass&>(object);
}

const std::vector<std::string_view>& reclaim_policies() {
  static const std::vector<std::string_view> policies{"Delete", "Recycle", "Retain"};
  return policies;
}

bool is_among(std::string_view text, const std::vector<std::string_view>& all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

// ---- PersistentVolume ---------------------------------------------------------------------------

void default_volume(Object& object) {
  PersistentVolumeSpec& spec = volume_in(object).spec;
  if (volume_in(object).status.phase.empty()) volume_in(object).status.phase = "Pending";
  if (spec.persistentVolumeReclaimPolicy.empty()) spec.persistentVolumeReclaimPolicy = "Retain";
  if (!spec.volumeMode) spec.volumeMode = "Filesystem";
  if (spec.hostPath && !spec.hostPath->type_) spec.hostPath->type_ = "";
}

void create_volume(Object& object) {
  PersistentVolume& volume = volume_in(object);
  volume.status = PersistentVolumeStatus{};
  volume.status.phase = "Pending";
  if (!has_finalizer(volume, volume_protection_finalizer))
    volume.metadata.finalizers.edit().emplace_back(volume_protection_finalizer);
}

int count_sources(const PersistentVolumeSpec& spec) {
  const std::array raw{&spec.local,
                       &spec.nfs,
                       &spec.csi,
                       &spec.awsElasticBlockStore,
                       &spec.azureDisk,
                       &spec.azureFile,
                       &spec.cephfs,
                       &spec.cinder,
                       &spec.fc,
                       &spec.flexVolume,
                       &spec.flocker,
                       &spec.gcePersistentDisk,
                       &spec.glusterfs,
                       &spec.iscsi,
                       &spec.photonPersistentDisk,
                       &spec.portworxVolume,
                       &spec.quobyte,
                       &spec.rbd,
                       &spec.scaleIO,
                       &spec.storageos,
                       &spec.vsphereVolume};
  const auto given = std::count_if(raw.begin(), raw.end(), [](const RawJson* source) {
    return source->get() != nullptr && !source->get()->is_null();
  });
  return static_cast<int>(given) + (spec.hostPath ? 1 : 0);
}

void validate_capacity(const PersistentVolumeSpec& spec, ErrorList& out) {
  if (spec.capacity.empty()) {
    out.push_back(required("spec.capacity"));
    return;
  }
  const auto storage = spec.capacity.find("storage");
  if (storage == spec.capacity.end() || spec.capacity->size() > 1) {
    out.push_back(
        not_supported("spec.capacity", quoted(spec.capacity.begin()->first), {"storage"}));
    return;
  }
  if (storage->second <= Quantity())
    out.push_back(invalid("spec.capacity[storage]", quoted(storage->second.str()),
                          "must be greater than zero"));
}

ErrorList validate_volume(const Object& object) {
  const PersistentVolumeSpec& spec = volume_in(object).spec;
  ErrorList out;
  if (spec.accessModes.empty()) out.push_back(required("spec.accessModes"));
  for (const std::string& mode : spec.accessModes)
    if (!is_among(mode, access_modes()))
      out.push_back(not_supported("spec.accessModes", quoted(mode), access_modes()));
  validate_capacity(spec, out);
  const int sources = count_sources(spec);
  if (sources == 0) out.push_back(required("spec", "must specify a volume type"));
  if (sources > 1) out.push_back(forbidden("spec", "may not specify more than 1 volume type"));
  if (!is_among(spec.persistentVolumeReclaimPolicy, reclaim_policies()))
    out.push_back(not_supported("spec.persistentVolumeReclaimPolicy",
                                quoted(spec.persistentVolumeReclaimPolicy), reclaim_policies()));
  if (!spec.storageClassName.empty())
    for (const std::string& problem : dns_subdomain_problems(spec.storageClassName))
      out.push_back(invalid("spec.storageClassName", quoted(spec.storageClassName), problem));
  const bool is_placed = spec.nodeAffinity && spec.nodeAffinity->required;
  if (!spec.local.absent() && !is_placed)
    out.push_back(required("spec.nodeAffinity", "Local volume requires node affinity"));
  return out;
}

// Which claim has it, how it is reclaimed and what it is called may change; where it lies may not.
ErrorList validate_volume_update(const Object& updated, const Object& old) {
  PersistentVolumeSpec now = volume_in(updated).spec;
  const PersistentVolumeSpec& then = volume_in(old).spec;
  if (then.nodeAffinity && (!now.nodeAffinity || !equal(*now.nodeAffinity, *then.nodeAffinity)))
    return {forbidden("spec.nodeAffinity", "field is immutable")};
  now.capacity = then.capacity;
  now.claimRef = then.claimRef;
  now.persistentVolumeReclaimPolicy = then.persistentVolumeReclaimPolicy;
  now.storageClassName = then.storageClassName;
  now.accessModes = then.accessModes;
  now.mountOptions = then.mountOptions;
  now.nodeAffinity = then.nodeAffinity;
  now.volumeAttributesClassName = then.volumeAttributesClassName;
  if (equal(now, then)) return {};
  return {forbidden("spec.persistentvolumesource",
                    "spec.persistentvolumesource is immutable after creation")};
}

// ---- StorageClass -------------------------------------------------------------------------------

void default_storage_class(Object& object) {
  StorageClass& one = class_in(object);
  if (!one.reclaimPolicy) one.reclaimPolicy = "Delete";
  if (!one.volumeBindingMode) one.volumeBindingMode = "Immediate";
}

ErrorList validate_storage_class(const Object& object) {
  static const std::vector<std::string_view> binding_modes{"Immediate", "WaitForFirstConsumer"};
  const StorageClass& one = class_in(object);
  ErrorList out;
  if (one.provisioner.empty()) out.push_back(required("provisioner"));
  if (one.reclaimPolicy && !is_among(*one.reclaimPolicy, reclaim_policies()))
    out.push_back(not_supported("reclaimPolicy", quoted(*one.reclaimPolicy), reclaim_policies()));
  if (one.volumeBindingMode && !is_among(*one.volumeBindingMode, binding_modes))
    out.push_back(
        not_supported("volumeBindingMode", quoted(*one.volumeBindingMode), binding_modes));
  return out;
}

ErrorList validate_storage_class_update(const Object& updated, const Object& old) {
  const StorageClass &now = class_in(updated), &then = class_in(old);
  ErrorList out;
  if (*now.parameters != *then.parameters)
    out.push_back(forbidden("parameters", "updates to parameters are forbidden."));
  if (now.provisioner != then.provisioner)
    out.push_back(forbidden("provisioner", "updates to provisioner are forbidden."));
  if (now.reclaimPolicy != then.reclaimPolicy)
    out.push_back(
        invalid("reclaimPolicy", quoted(now.reclaimPolicy.value_or("")), "field is immutable"));
  if (now.volumeBindingMode != then.volumeBindingMode)
    out.push_back(invalid("volumeBindingMode", quoted(now.volumeBindingMode.value_or("")),
                          "field is immutable"));
  return out;
}

bool has_modes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& has = volume.spec.accessModes;
  return std::all_of(claim.spec.accessModes.begin(), claim.spec.accessModes.end(),
                     [&has](const std::string& mode) {
                       return std::find(has.begin(), has.end(), mode) != has.end();
                     });
}

bool is_large_enough(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return storage_of(claim.spec.resources.requests) <= storage_of(volume.spec.capacity);
}

bool is_selected(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (!claim.spec.selector) return true;
  const auto matcher = LabelMatcher::from(*claim.spec.selector);
  return matcher && matcher->matches(*volume.metadata.labels);
}

// Free, and what the claim asks for, but for its room and where it can be reached.
bool may_be_given(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return !volume.spec.claimRef && volume.status.phase == "Available" &&
         is_selected(volume, claim) && volume.spec.storageClassName == class_of(claim) &&
         has_modes(volume, claim);
}

}  // namespace

Quantity storage_of(const Cow<ResourceList>& amounts) {
  const auto found = amounts.find("storage");
  return found == amounts.end() ? Quantity() : found->second;
}

const Text* annotation(const Object& object, std::string_view key) {
  const auto found = object.metadata.annotations.find(key);
  return found == object.metadata.annotations.end() ? nullptr : &found->second;
}

std::string_view class_of(const PersistentVolumeClaim& claim) {
  return claim.spec.storageClassName ? std::string_view(*claim.spec.storageClassName)
                                     : std::string_view();
}

bool is_fully_bound(const PersistentVolumeClaim& claim) {
  return !claim.spec.volumeName.empty() && annotation(claim, bind_completed) != nullptr;
}

bool is_kept_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& kept = volume.spec.claimRef;
  return kept && kept->name == claim.metadata.name &&
         kept->namespace_ == claim.metadata.namespace_ &&
         (kept->uid.empty() || kept->uid == claim.metadata.uid);
}

std::shared_ptr<PersistentVolume> kept_for(const PersistentVolume& volume,
                                           const PersistentVolumeClaim& claim) {
  auto kept = std::make_shared<PersistentVolume>(volume);
  if (volume.spec.claimRef && !volume.spec.claimRef->uid.empty()) return kept;
  if (!volume.spec.claimRef) kept->metadata.annotations.edit()[bound_by_controller] = "yes";
  kept->spec.claimRef = object_reference(claim);
  return kept;
}

bool waits_for_consumer(const StorageClass* storage_class) {
  return storage_class != nullptr && storage_class->volumeBindingMode == "WaitForFirstConsumer";
}

bool marks_default(const StorageClass& storage_class) {
  const Text* mark = annotation(storage_class, is_default_class);
  return mark != nullptr && *mark == "true";
}

StorageClassPtr default_class(const std::vector<StorageClassPtr>& classes) {
  StorageClassPtr newest;
  for (const StorageClassPtr& one : classes) {
    if (!marks_default(*one)) continue;
    if (!newest || *newest->metadata.creationTimestamp < *one->metadata.creationTimestamp)
      newest = one;
  }
  return newest;
}

std::string mismatch_of(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (volume.metadata.deletionTimestamp)
    return fmt::format("the volume is marked for deletion \"{}\"", volume.metadata.name);
  if (!is_large_enough(volume, claim)) return "requested PV is too small";
  if (volume.spec.storageClassName != class_of(claim)) return "storageClassName does not match";
  if (volume.spec.volumeMode.value_or("Filesystem") != claim.spec.volumeMode.value_or("Filesystem"))
    return "incompatible volumeMode";
  if (!has_modes(volume, claim)) return "incompatible accessMode";
  return {};
}

VolumePtr find_volume(const PersistentVolumeClaim& claim, const std::vector<VolumePtr>& volumes,
                      const VolumeSearch& search) {
  VolumePtr smallest;
  for (const VolumePtr& volume : volumes) {
    const bool is_taken =
        std::find(search.taken.begin(), search.taken.end(), volume.get()) != search.taken.end();
    if (is_taken || volume->metadata.deletionTimestamp || !is_large_enough(*volume, claim) ||
        volume->spec.volumeMode.value_or("Filesystem") !=
            claim.spec.volumeMode.value_or("Filesystem"))
      continue;
    const bool reaches = !search.reaches || search.reaches(*volume);
    if (is_kept_for(*volume, claim)) return reaches ? volume : nullptr;
    if (search.kept_only || !reaches || !may_be_given(*volume, claim)) continue;
    if (!smallest || storage_of(volume->spec.capacity) < storage_of(smallest->spec.capacity))
      smallest = volume;
  }
  return smallest;
}

const Type& VolumeNodeAffinity::type() {
  using S = VolumeNodeAffinity;
  static const Type t = structure<S>("v1.VolumeNodeAffinity", {F(required)});
  return t;
}
const Type& PersistentVolumeSpec::type() {
  using S = PersistentVolumeSpec;
  static const Type t = structure<S>("v1.PersistentVolumeSpec", {F(capacity),
                                                                 F(hostPath),
                                                                 F(local),
                                                                 F(nfs),
                                                                 F(csi),
                                                                 F(awsElasticBlockStore),
                                                                 F(azureDisk),
                                                                 F(azureFile),
                                                                 F(cephfs),
                                                                 F(cinder),
                                                                 F(fc),
                                                                 F(flexVolume),
                                                                 F(flocker),
                                                                 F(gcePersistentDisk),
                                                                 F(glusterfs),
                                                                 F(iscsi),
                                                                 F(photonPersistentDisk),
                                                                 F(portworxVolume),
                                                                 F(quobyte),
                                                                 F(rbd),
                                                                 F(scaleIO),
                                                                 F(storageos),
                                                                 F(vsphereVolume),
                                                                 F(accessModes, .atomic = true),
                                                                 F(claimRef),
                                                                 F(persistentVolumeReclaimPolicy),
                                                                 F(storageClassName),
                                                                 F(mountOptions, .atomic = true),
                                                                 F(volumeMode),
                                                                 F(nodeAffinity),
                                                                 F(volumeAttributesClassName)});
  return t;
}
const Type& PersistentVolumeStatus::type() {
  using S = PersistentVolumeStatus;
  static const Type t = structure<S>("v1.PersistentVolumeStatus",
                                     {F(phase), F(message), F(reason), F(lastPhaseTransitionTime)});
  return t;
}
const Type& PersistentVolume::type() {
  using S = PersistentVolume;
  static const Type t = structure<S>("v1.PersistentVolume", {F(metadata), F(spec), F(status)});
  return t;
}
const Type& StorageClass::type() {
  using S = StorageClass;
  static const Type t =
      structure<S>("v1.StorageClass",
                   {F(metadata), F(provisioner, .always = true), F(parameters), F(reclaimPolicy),
                    F(mountOptions, .atomic = true), F(allowVolumeExpansion), F(volumeBindingMode),
                    F(allowedTopologies, .atomic = true)});
  return t;
}

const KindInfo& PersistentVolume::info() {
  static const KindInfo kind{
      .version = "v1",
      .kind = "PersistentVolume",
      .plural = "persistentvolumes",
      .singular = "persistentvolume",
      .short_names = {"pv"},
      .namespaced = false,
      .status = true,
      .type = &PersistentVolume::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<PersistentVolume>(); },
      .strategy = {.defaults = &default_volume,
                   .prepare_create = &create_volume,
                   .prepare_status_update =
                       [](Object& updated, const Object& old) {
                         volume_in(updated).spec = volume_in(old).spec;
                       },
                   .validate = &validate_volume,
                   .validate_update = &validate_volume_update}};
  return kind;
}

const KindInfo& StorageClass::info() {
  static const KindInfo kind{
      .group = "storage.k8s.io",
      .version = "v1",
      .kind = "StorageClass",
      .plural = "storageclasses",
      .singular = "storageclass",
      .short_names = {"sc"},
      .namespaced = false,
      .type = &StorageClass::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<StorageClass>(); },
      .strategy = {.defaults = &default_storage_class,
                   .validate = &validate_storage_class,
                   .validate_update = &validate_storage_class_update}};
  return kind;
}

}  // namespace ddptwin
