#include "objects/apps_v1.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/validation_apps_v1.hpp"

namespace ddptwin {
namespace {

StatefulSet& set_in(Object& object) { return static_cast<StatefulSet&>(object); }
const StatefulSet& set_in(const Object& object) { return static_cast<const StatefulSet&>(object); }

void drop_gated(StatefulSet& set) {
  if (set.spec->updateStrategy.rollingUpdate &&
      !set.spec->updateStrategy.rollingUpdate->maxUnavailable.absent())
    set.spec.edit().updateStrategy.rollingUpdate->maxUnavailable = RawJson();
}

void create_set(Object& object) {
  set_in(object).status = StatefulSetStatus{};
  drop_gated(set_in(object));
}
void update_set(Object& updated, const Object&) { drop_gated(set_in(updated)); }
void update_set_status(Object& updated, const Object& old) {
  set_in(updated).spec = set_in(old).spec;
}

}  // namespace

const Type& RollingUpdateStatefulSetStrategy::type() {
  using S = RollingUpdateStatefulSetStrategy;
  static const Type t =
      structure<S>("v1.RollingUpdateStatefulSetStrategy", {F(partition), F(maxUnavailable)});
  return t;
}
const Type& StatefulSetUpdateStrategy::type() {
  using S = StatefulSetUpdateStrategy;
  static const Type t = structure<S>("v1.StatefulSetUpdateStrategy", {F(type_), F(rollingUpdate)});
  return t;
}
const Type& ClaimRetentionPolicy::type() {
  using S = ClaimRetentionPolicy;
  static const Type t = structure<S>("v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
                                     {F(whenDeleted), F(whenScaled)});
  return t;
}
const Type& StatefulSetOrdinals::type() {
  using S = StatefulSetOrdinals;
  static const Type t = structure<S>("v1.StatefulSetOrdinals", {F(start, .always = true)});
  return t;
}
const Type& StatefulSetSpec::type() {
  using S = StatefulSetSpec;
  static const Type t = structure<S>(
      "v1.StatefulSetSpec",
      {F(replicas), F(selector, .always = true, .required = true, .atomic = true),
       F(template_, .always = true, .required = true), F(volumeClaimTemplates, .atomic = true),
       F(serviceName, .always = true), F(podManagementPolicy), F(updateStrategy, .always = true),
       F(revisionHistoryLimit), F(minReadySeconds), F(persistentVolumeClaimRetentionPolicy),
       F(ordinals)});
  return t;
}
const Type& StatefulSetStatus::type() {
  using S = StatefulSetStatus;
  static const Type t =
      structure<S>("v1.StatefulSetStatus",
                   {F(observedGeneration), F(replicas, .always = true), F(readyReplicas),
                    F(currentReplicas), F(updatedReplicas), F(currentRevision), F(updateRevision),
                    F(collisionCount), F(conditions, .merge = Merge::merge, .merge_key = "type"),
                    F(availableReplicas, .always = true)});
  return t;
}
bool StatefulSetStatus::operator==(const StatefulSetStatus& other) const {
  return equal(*this, other);
}
const Type& StatefulSet::type() {
  using S = StatefulSet;
  static const Type t = structure<S>("v1.StatefulSet", {F(metadata), F(spec), F(status)});
  return t;
}
const Type& ControllerRevision::type() {
  using S = ControllerRevision;
  static const Type t =
      structure<S>("v1.ControllerRevision", {F(metadata), F(data), F(revision, .always = true)});
  return t;
}

const KindInfo& StatefulSet::info() {
  static const KindInfo kind{
      .group = "apps",
      .version = "v1",
      .kind = "StatefulSet",
      .plural = "statefulsets",
      .singular = "statefulset",
      .short_names = {"sts"},
      .categories = {"all"},
      .status = true,
      .scale = ScalePaths{".spec.replicas", ".status.replicas", ".spec.selector"},
      .generation = true,
      .type = &StatefulSet::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<StatefulSet>(); },
      .strategy = {.name_rule = &dns_label_problems,
                   .defaults = [](Object& object) { default_stateful_set(set_in(object)); },
                   .prepare_create = &create_set,
                   .prepare_update = &update_set,
                   .prepare_status_update = &update_set_status,
                   .validate = &validate_stateful_set,
                   .validate_update = &validate_stateful_set_update}};
  return kind;
}

const KindInfo& ControllerRevision::info() {
  static const KindInfo kind{
      .group = "apps",
      .version = "v1",
      .kind = "ControllerRevision",
      .plural = "controllerrevisions",
      .singular = "controllerrevision",
      .type = &ControllerRevision::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<ControllerRevision>(); },
      .strategy = {.validate_update = &validate_controller_revision_update}};
  return kind;
}

}  // namespace ddptwin
