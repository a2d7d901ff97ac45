#include "objects/validation_apps_v1.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/defaults.hpp"
#include "objects/selector.hpp"
#include "objects/validation_core_v1.hpp"

namespace ddptwin {
namespace {

void must_not_be_negative(ErrorList& out, std::string_view field, std::int64_t value) {
  if (value < 0)
    out.push_back(
        invalid(std::string(field), std::to_string(value), "must be greater than or equal to 0"));
}

// As Go's encoder shows the server's own struct of it.
std::string shown_rolling_update(const RollingUpdateStatefulSetStrategy& update) {
  return fmt::format("{{\"Partition\":{},\"MaxUnavailable\":null}}", update.partition.value_or(0));
}
std::string shown_strategy(const StatefulSetUpdateStrategy& strategy) {
  return fmt::format(
      "{{\"Type\":{},\"RollingUpdate\":{}}}", quoted(strategy.type_),
      strategy.rollingUpdate ? shown_rolling_update(*strategy.rollingUpdate) : "null");
}

void check_management_policy(ErrorList& out, const StatefulSetSpec& spec) {
  const std::string& policy = spec.podManagementPolicy;
  if (policy.empty())
    out.push_back(required("spec.podManagementPolicy"));
  else if (policy != "OrderedReady" && policy != "Parallel")
    out.push_back(invalid("spec.podManagementPolicy", quoted(policy),
                          "must be 'OrderedReady' or 'Parallel'"));
}

void check_update_strategy(ErrorList& out, const StatefulSetUpdateStrategy& strategy) {
  if (strategy.type_.empty()) {
    out.push_back(required("spec.updateStrategy"));
  } else if (strategy.type_ == "OnDelete") {
    if (strategy.rollingUpdate)
      out.push_back(invalid("spec.updateStrategy.rollingUpdate",
                            shown_rolling_update(*strategy.rollingUpdate),
                            "only allowed for updateStrategy 'RollingUpdate'"));
  } else if (strategy.type_ != "RollingUpdate") {
    out.push_back(invalid("spec.updateStrategy", shown_strategy(strategy),
                          "must be 'RollingUpdate' or 'OnDelete'"));
  } else if (strategy.rollingUpdate) {
    must_not_be_negative(out, "spec.updateStrategy.rollingUpdate.partition",
                         strategy.rollingUpdate->partition.value_or(0));
  }
}

void check_retention_policy(ErrorList& out, const ClaimRetentionPolicy& policy) {
  static const std::vector<std::string_view> supported{"Retain", "Delete"};
  for (const auto& [field, value] :
       {std::pair{"whenDeleted", &policy.whenDeleted}, std::pair{"whenScaled", &policy.whenScaled}})
    if (std::find(supported.begin(), supported.end(), *value) == supported.end())
      out.push_back(
          not_supported(fmt::format("spec.persistentVolumeClaimRetentionPolicy.{}", field),
                        quoted(*value), supported));
}

// A selector that is missing selects nothing, an empty one everything; of the latter nothing more
// is said.
void check_selector(ErrorList& out, const StatefulSetSpec& spec) {
  const StringMap& labels = spec.template_.metadata.labels;
  bool matches = false, everything = false;
  if (!spec.selector) {
    out.push_back(required("spec.selector"));
  } else if (const auto matcher = LabelMatcher::from(*spec.selector); !matcher) {
    out.push_back(invalid("spec.selector", boost::json::serialize(to_json(*spec.selector)),
                          matcher.error().message));
  } else {
    everything = matcher->empty();
    matches = matcher->matches(labels);
    if (everything)
      out.push_back(invalid("spec.selector", "{}", "empty selector is invalid for statefulset"));
  }
  if (!matches && !everything)
    out.push_back(invalid("spec.template.metadata.labels", shown_or_null(labels),
                          "`selector` does not match template `labels`"));
}

// With the volumes that the set's claims will be: containers may mount them.
PodSpec with_claims(const StatefulSetSpec& spec) {
  PodSpec pod = *spec.template_.spec;
  for (const ClaimTemplate& claim : spec.volumeClaimTemplates) {
    const auto is_it = [&claim](const Volume& one) { return one.name == claim.metadata.name; };
    if (std::any_of(pod.volumes.begin(), pod.volumes.end(), is_it)) continue;
    Volume& added = pod.volumes.edit().emplace_back();
    added.name = claim.metadata.name.str();
    added.persistentVolumeClaim.emplace().claimName = added.name;
  }
  return pod;
}

void check_template(ErrorList& out, const StatefulSetSpec& spec) {
  const PodTemplateSpec& pod = spec.template_;
  append(out, validate_labels(pod.metadata.labels, "spec.template.metadata.labels"));
  append(out, validate_annotations(pod.metadata.annotations, "spec.template.metadata.annotations"));
  append(out, validate_pod_spec(with_claims(spec), "spec.template.spec"));
  if (pod.spec->restartPolicy != "Always")
    out.push_back(not_supported("spec.template.spec.restartPolicy", quoted(pod.spec->restartPolicy),
                                {"Always"}));
  if (pod.spec->activeDeadlineSeconds)
    out.push_back(forbidden("spec.template.spec.activeDeadlineSeconds",
                            "activeDeadlineSeconds in StatefulSet is not Supported"));
}

ErrorList validate_spec(const StatefulSetSpec& spec) {
  ErrorList out;
  check_management_policy(out, spec);
  check_update_strategy(out, spec.updateStrategy);
  if (spec.persistentVolumeClaimRetentionPolicy)
    check_retention_policy(out, *spec.persistentVolumeClaimRetentionPolicy);
  must_not_be_negative(out, "spec.replicas", spec.replicas.value_or(0));
  must_not_be_negative(out, "spec.minReadySeconds", spec.minReadySeconds);
  if (spec.ordinals) must_not_be_negative(out, "spec.ordinals.start", spec.ordinals->start);
  if (!spec.serviceName.empty())
    for (const std::string& problem : dns_label_problems(spec.serviceName))
      out.push_back(invalid("spec.serviceName", quoted(spec.serviceName), problem));
  check_selector(out, spec);
  check_template(out, spec);
  return out;
}

template <class T>
void fill_in(std::optional<T>& field, T value) {
  if (!field) field = value;
}
void fill_in(std::string& field, std::string_view value) {
  if (field.empty()) field = value;
}

}  // namespace

void default_stateful_set(StatefulSet& set) {
  StatefulSetSpec& spec = set.spec.edit();
  fill_in(spec.podManagementPolicy, "OrderedReady");
  fill_in(spec.updateStrategy.type_, "RollingUpdate");
  if (spec.updateStrategy.type_ == "RollingUpdate") {
    auto& update = spec.updateStrategy.rollingUpdate;
    if (!update) update.emplace();
    fill_in(update->partition, 0);
  }
  auto& retention = spec.persistentVolumeClaimRetentionPolicy;
  if (!retention) retention.emplace();
  fill_in(retention->whenDeleted, "Retain");
  fill_in(retention->whenScaled, "Retain");
  fill_in(spec.replicas, 1);
  fill_in(spec.revisionHistoryLimit, 10);
  default_pod_spec(spec.template_.spec.edit());
  for (ClaimTemplate& claim : spec.volumeClaimTemplates) {
    fill_in(claim.kind, "PersistentVolumeClaim");
    fill_in(claim.apiVersion, "v1");
    default_claim(claim.spec, claim.status);
  }
}

ErrorList validate_stateful_set(const Object& object) {
  return validate_spec(*static_cast<const StatefulSet&>(object).spec);
}

ErrorList validate_stateful_set_update(const Object& updated, const Object& old) {
  const StatefulSetSpec& now = *static_cast<const StatefulSet&>(updated).spec;
  StatefulSetSpec then = *static_cast<const StatefulSet&>(old).spec;
  ErrorList out = validate_spec(now);
  then.replicas = now.replicas;
  then.ordinals = now.ordinals;
  then.template_ = now.template_;
  then.updateStrategy = now.updateStrategy;
  then.revisionHistoryLimit = now.revisionHistoryLimit;
  then.persistentVolumeClaimRetentionPolicy = now.persistentVolumeClaimRetentionPolicy;
  then.minReadySeconds = now.minReadySeconds;
  if (!equal(now, then))
    out.push_back(forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
  return out;
}

ErrorList validate_controller_revision_update(const Object& updated, const Object& old) {
  const auto &now = static_cast<const ControllerRevision&>(updated),
             &then = static_cast<const ControllerRevision&>(old);
  if (now.data == then.data) return {};
  return {invalid("data",
                  now.data.get() != nullptr ? boost::json::serialize(*now.data.get()) : "null",
                  "field is immutable")};
}

}  // namespace ddptwin
