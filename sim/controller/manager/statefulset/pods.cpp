#include "controller/manager/statefulset/pods.hpp"

#include <algorithm>

#include "controller/toolkit/ownership.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::statefulset {
namespace {

std::int64_t ordinal_of(const Pod& pod) {
  const auto place = place_of(pod.metadata.name);
  return place ? place->ordinal : -1;
}

bool has_label(const Pod& pod, const Text& key, std::string_view value) {
  const Text* said = pod.metadata.label(key);
  return said != nullptr && *said == value;
}

}  // namespace

std::shared_ptr<Pod> new_pod(const StatefulSet& set, std::int64_t ordinal,
                             std::string_view revision) {
  auto pod = std::make_shared<Pod>();
  const PodTemplateSpec& from = set.spec->template_;
  pod->metadata.name = pod_name(set, ordinal);
  pod->metadata.namespace_ = set.metadata.namespace_;
  pod->metadata.rest.edit().generateName = set.metadata.name + "-";
  pod->metadata.labels = from.metadata.labels;
  pod->metadata.annotations = from.metadata.annotations;
  pod->metadata.finalizers = from.metadata.finalizers;
  pod->metadata.ownerReferences = std::vector{controller_reference(set)};
  pod->spec = from.spec;
  PodSpec::Rest& rest = pod->spec.edit().rest.edit();
  rest.hostname = pod->metadata.name.str();
  rest.subdomain = set.spec->serviceName;
  restore_identity(set, *pod);
  restore_storage(set, *pod);
  pod->metadata.labels.edit()[label::revision] = revision;
  return pod;
}

bool identity_matches(const StatefulSet& set, const Pod& pod) {
  const std::int64_t ordinal = ordinal_of(pod);
  return ordinal >= 0 && pod.metadata.name == pod_name(set, ordinal) &&
         pod.metadata.namespace_ == set.metadata.namespace_ &&
         has_label(pod, label::pod_name, pod.metadata.name) &&
         has_label(pod, label::pod_index, std::to_string(ordinal));
}

bool storage_matches(const StatefulSet& set, const Pod& pod) {
  const std::int64_t ordinal = ordinal_of(pod);
  if (ordinal < 0) return false;
  const auto& volumes = pod.spec->volumes;
  return std::all_of(
      set.spec->volumeClaimTemplates.begin(), set.spec->volumeClaimTemplates.end(),
      [&](const ClaimTemplate& claim) {
        return std::any_of(volumes.begin(), volumes.end(), [&](const Volume& volume) {
          return claim.metadata.name == volume.name && volume.persistentVolumeClaim &&
                 volume.persistentVolumeClaim->claimName == claim_name(set, claim, ordinal);
        });
      });
}

void restore_identity(const StatefulSet& set, Pod& pod) {
  const std::int64_t ordinal = ordinal_of(pod);
  pod.metadata.name = pod_name(set, ordinal);
  pod.metadata.namespace_ = set.metadata.namespace_;
  StringMap& labels = pod.metadata.labels.edit();
  labels[label::pod_name] = pod.metadata.name;
  labels[label::pod_index] = std::to_string(ordinal);
}

// The claims' volumes come first; those of the template that bear the same name are lost.
void restore_storage(const StatefulSet& set, Pod& pod) {
  const auto& claims = set.spec->volumeClaimTemplates;
  if (claims.empty()) return;
  const std::int64_t ordinal = ordinal_of(pod);
  std::vector<Volume> volumes;
  for (const ClaimTemplate& claim : claims) {
    Volume& volume = volumes.emplace_back();
    volume.name = claim.metadata.name.str();
    volume.persistentVolumeClaim.edit().claimName = claim_name(set, claim, ordinal);
  }
  for (const Volume& volume : pod.spec->volumes) {
    const bool is_claimed = std::any_of(claims.begin(), claims.end(), [&](const auto& claim) {
      return claim.metadata.name == volume.name;
    });
    if (!is_claimed) volumes.push_back(volume);
  }
  pod.spec.edit().volumes = std::move(volumes);
}

std::string_view revision_of(const Pod& pod) {
  const Text* said = pod.metadata.label(label::revision);
  return said != nullptr ? said->view() : std::string_view();
}

bool is_finished(const Pod& pod) { return is_terminal_phase(pod.status.phase); }
bool is_terminating(const Pod& pod) { return pod.metadata.deletionTimestamp.has_value(); }

bool is_ready(const Pod& pod) {
  const PodCondition* ready = pod.status.condition("Ready");
  return pod.status.phase == "Running" && ready != nullptr && ready->status == "True";
}

std::optional<Time> available_at(const Pod& pod, std::int32_t min_ready_seconds, Time now) {
  if (!is_ready(pod) || min_ready_seconds <= 0) return std::nullopt;
  const Time since = pod.status.condition("Ready")->lastTransitionTime.value_or(Time());
  const Time due = since + std::chrono::seconds(min_ready_seconds);
  return due < now ? std::nullopt : std::optional(due);
}

bool is_available(const Pod& pod, std::int32_t min_ready_seconds, Time now) {
  return is_ready(pod) && !available_at(pod, min_ready_seconds, now);
}

bool is_healthy(const Pod& pod) { return is_ready(pod) && !is_terminating(pod); }

}  // namespace ddptwin::controller::statefulset
