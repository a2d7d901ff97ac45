#include "objects/volume_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/fields.hpp"
#include "objects/finalizers.hpp"
#include "objects/kinds.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

PersistentVolumeClaim& claim_in(Object& object) {
  return static_cast<PersistentVolumeClaim&>(object);
}
const PersistentVolumeClaim& claim_in(const Object& object) {
  return static_cast<const PersistentVolumeClaim&>(object);
}

void create_claim(Object& object) {
  PersistentVolumeClaim& claim = claim_in(object);
  claim.status = PersistentVolumeClaimStatus{};
  claim.status.phase = "Pending";
  if (!has_finalizer(claim, claim_protection_finalizer))
    claim.metadata.finalizers.edit().emplace_back(claim_protection_finalizer);
}

ErrorList validate_claim(const Object& object) {
  const std::vector<std::string_view>& modes = access_modes();
  const PersistentVolumeClaimSpec& spec = claim_in(object).spec;
  ErrorList out;
  if (spec.accessModes.empty())
    out.push_back(required("spec.accessModes", "at least 1 access mode is required"));
  for (const std::string& mode : spec.accessModes)
    if (std::find(modes.begin(), modes.end(), mode) == modes.end())
      out.push_back(not_supported("spec.accessModes", quoted(mode), modes));
  const auto storage = spec.resources.requests.find("storage");
  if (storage == spec.resources.requests.end())
    out.push_back(required("spec.resources[storage]"));
  else if (storage->second <= Quantity())
    out.push_back(invalid("spec.resources[storage]", quoted(storage->second.str()),
                          "must be greater than zero"));
  if (spec.storageClassName && !spec.storageClassName->empty())
    for (const std::string& problem : dns_subdomain_problems(*spec.storageClassName))
      out.push_back(invalid("spec.storageClassName", quoted(*spec.storageClassName), problem));
  return out;
}

// The binder writes the volume's name once; a bound claim may ask for more room.
ErrorList validate_claim_update(const Object& updated, const Object& old) {
  PersistentVolumeClaimSpec now = claim_in(updated).spec;
  const PersistentVolumeClaimSpec& then = claim_in(old).spec;
  if (then.volumeName.empty()) now.volumeName = then.volumeName;
  if (!then.storageClassName) now.storageClassName = then.storageClassName;
  const bool bound = claim_in(old).status.phase == "Bound";
  if (bound) now.resources.requests = then.resources.requests;
  if (equal(now, then)) return {};
  return {forbidden("spec",
                    "spec is immutable after creation except resources.requests and "
                    "volumeAttributesClassName for bound claims")};
}

}  // namespace

const std::vector<std::string_view>& access_modes() {
  static const std::vector<std::string_view> modes{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                                   "ReadWriteOncePod"};
  return modes;
}

void default_claim(PersistentVolumeClaimSpec& spec, PersistentVolumeClaimStatus& status) {
  if (!spec.volumeMode) spec.volumeMode = "Filesystem";
  if (status.phase.empty()) status.phase = "Pending";
}

const Type& ClaimResources::type() {
  using S = ClaimResources;
  static const Type t = structure<S>("v1.VolumeResourceRequirements", {F(limits), F(requests)});
  return t;
}
const Type& PersistentVolumeClaimSpec::type() {
  using S = PersistentVolumeClaimSpec;
  static const Type t =
      structure<S>("v1.PersistentVolumeClaimSpec",
                   {F(accessModes, .atomic = true), F(selector, .atomic = true), F(resources),
                    F(volumeName), F(storageClassName), F(volumeMode), F(dataSource),
                    F(dataSourceRef), F(volumeAttributesClassName)});
  return t;
}
const Type& PersistentVolumeClaimStatus::type() {
  using S = PersistentVolumeClaimStatus;
  static const Type t = structure<S>(
      "v1.PersistentVolumeClaimStatus",
      {F(phase), F(accessModes, .atomic = true), F(capacity),
       F(conditions, .merge = Merge::merge, .merge_key = "type"), F(allocatedResources),
       F(allocatedResourceStatuses), F(currentVolumeAttributesClassName), F(modifyVolumeStatus)});
  return t;
}
const Type& PersistentVolumeClaim::type() {
  using S = PersistentVolumeClaim;
  static const Type t = structure<S>("v1.PersistentVolumeClaim", {F(metadata), F(spec), F(status)});
  return t;
}
const Type& ClaimTemplate::type() {
  using S = ClaimTemplate;
  static const Type t = structure<S>("v1.PersistentVolumeClaim",
                                     {F(kind), F(apiVersion), F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& PersistentVolumeClaim::info() {
  static const KindInfo kind{
      .version = "v1",
      .kind = "PersistentVolumeClaim",
      .plural = "persistentvolumeclaims",
      .singular = "persistentvolumeclaim",
      .short_names = {"pvc"},
      .status = true,
      .type = &PersistentVolumeClaim::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<PersistentVolumeClaim>(); },
      .strategy = {
          .defaults =
              [](Object& object) { default_claim(claim_in(object).spec, claim_in(object).status); },
          .prepare_create = &create_claim,
          .prepare_status_update =
              [](Object& updated, const Object& old) {
                claim_in(updated).spec = claim_in(old).spec;
              },
          .validate = &validate_claim,
          .validate_update = &validate_claim_update}};
  return kind;
}

}  // namespace ddptwin
