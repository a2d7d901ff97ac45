#include "controller/t9k/webhook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "controller/t9k/policy.hpp"
#include "controller/toolkit/denial.hpp"
#include "objects/codec.hpp"
#include "objects/validation.hpp"

namespace ddptwin::controller::t9k {
namespace {

constexpr std::string_view immutable = "field is immutable";

template <class Entry>
void types_are_unique(const std::vector<Entry>& entries, const std::string& path,
                      ErrorList& errors) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!seen.insert(entries[i].type_).second)
      errors.push_back(duplicate(fmt::format("{}[{}].type", path, i), quoted(entries[i].type_)));
}

// Each entry is of a group that the job has.
template <class Entry>
void types_are_known(const std::vector<Entry>& entries, const PyTorchTrainingJobSpec& spec,
                     const std::string& path, ErrorList& errors) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool known = std::any_of(
        spec.replicaSpecs.begin(), spec.replicaSpecs.end(),
        [&](const PyTorchTrainingJobReplicas& group) { return group.type_ == entries[i].type_; });
    if (!known)
      errors.push_back(not_found(fmt::format("{}[{}].type", path, i), quoted(entries[i].type_)));
  }
}

void judge_resources(const Container& container, const std::string& path, ErrorList& errors) {
  const ResourceList& limits = *container.resources.limits;
  for (const auto& [name, asked] : *container.resources.requests)
    if (const auto limit = limits.find(name); limit != limits.end() && limit->second < asked)
      errors.push_back(invalid(
          fmt::format("{}.resources.requests[{}]", path, name), quoted(asked.str()),
          fmt::format("must be less than or equal to {} limit of {}", name, limit->second.str())));
}

void judge_template(const PodSpec& pod, const std::string& path, ErrorList& errors) {
  if (pod.containers.empty()) errors.push_back(required(path + ".containers"));
  for (std::size_t i = 0; i < pod.containers.size(); ++i)
    judge_resources((*pod.containers)[i], fmt::format("{}.containers[{}]", path, i), errors);
  for (std::size_t i = 0; i < pod.initContainers.size(); ++i)
    judge_resources((*pod.initContainers)[i], fmt::format("{}.initContainers[{}]", path, i),
                    errors);
}

void judge_groups(const PyTorchTrainingJobSpec& spec, ErrorList& errors) {
  const std::string path = "spec.replicaSpecs";
  for (std::size_t i = 0; i < spec.replicaSpecs.size(); ++i) {
    const PyTorchTrainingJobReplicas& group = spec.replicaSpecs[i];
    const std::string at = fmt::format("{}[{}]", path, i);
    for (const std::string& problem : dns_label_problems(group.type_))
      errors.push_back(invalid(at + ".type", quoted(group.type_), problem));
    if (i == 0 && group.replicas.value_or(1) < 1)
      errors.push_back(invalid(at + ".replicas", std::to_string(*group.replicas),
                               "must be at least 1: the first group has the master"));
    judge_template(*group.template_.spec, at + ".template.spec", errors);
  }
  types_are_unique(spec.replicaSpecs, path, errors);
}

void judge_elastic(const PyTorchTrainingJobSpec& spec, ErrorList& errors) {
  if (!spec.elastic || !spec.elastic->enabled) return;
  const ElasticConfig& elastic = *spec.elastic;
  if (!elastic.minReplicas) errors.push_back(required("spec.elastic.minReplicas"));
  if (!elastic.maxReplicas) errors.push_back(required("spec.elastic.maxReplicas"));
  if (!elastic.minReplicas || !elastic.maxReplicas) return;
  const int least = *elastic.minReplicas, most = *elastic.maxReplicas;
  if (most < least)
    errors.push_back(invalid("spec.elastic.maxReplicas", std::to_string(most),
                             fmt::format("must be at least minReplicas, {}", least)));
  else if (elastic.expectedReplicas &&
           (*elastic.expectedReplicas < least || *elastic.expectedReplicas > most))
    errors.push_back(invalid(
        "spec.elastic.expectedReplicas", std::to_string(*elastic.expectedReplicas),
        fmt::format("must be between minReplicas and maxReplicas, {} and {}", least, most)));
  int weights = 0;
  for (const PyTorchTrainingJobReplicas& group : spec.replicaSpecs)
    weights += group.scalingWeight.value_or(1);
  if (weights <= 0)
    errors.push_back(invalid("spec.replicaSpecs", std::to_string(weights),
                             "the groups' scalingWeights must not all be 0"));
}

void judge_modes(const PyTorchTrainingJobSpec& spec, ErrorList& errors) {
  if (!spec.runMode) return;
  if (const auto& debug = spec.runMode->debug) {
    const std::string path = "spec.runMode.debug.replicaSpecs";
    types_are_known(debug->replicaSpecs, spec, path, errors);
    types_are_unique(debug->replicaSpecs, path, errors);
  }
  if (const auto& pause = spec.runMode->pause; pause && pause->resumeSpecs) {
    const std::string path = "spec.runMode.pause.resumeSpecs";
    types_are_known(*pause->resumeSpecs, spec, path, errors);
    types_are_unique(*pause->resumeSpecs, path, errors);
  }
}

void judge_name(const PyTorchTrainingJob& job, ErrorList& errors) {
  const std::string name = job.metadata.name.str();
  for (const std::string& problem : dns_1035_label_problems(name))
    errors.push_back(invalid("metadata.name", quoted(name), problem));
  if (const std::size_t longest = longest_replica_name(job); longest > replica_name_max)
    errors.push_back(invalid("metadata.name", quoted(name),
                             fmt::format("a replica would have a name of {} characters: must be no "
                                         "more than {}",
                                         longest, replica_name_max)));
}

// ---- what may change (§2.1; PROPOSED, G5)
// --------------------------------------------------------

template <class T>
bool same(const T& now, const T& was) {
  return to_json(now) == to_json(was);
}

template <class T>
bool same_part(const std::optional<T>& now, const std::optional<T>& was) {
  if (now && was) return same(*now, *was);
  return now.has_value() == was.has_value();
}

const std::optional<DebugMode>& debug_of(const PyTorchTrainingJobSpec& spec) {
  static const std::optional<DebugMode> none;
  return spec.runMode ? spec.runMode->debug : none;
}

std::optional<std::vector<ResumeReplicas>> resume_of(const PyTorchTrainingJobSpec& spec) {
  if (!spec.runMode || !spec.runMode->pause) return std::nullopt;
  return spec.runMode->pause->resumeSpecs;
}

bool same_resume(const PyTorchTrainingJobSpec& now, const PyTorchTrainingJobSpec& was) {
  const auto is = resume_of(now), before = resume_of(was);
  if (!is || !before) return is.has_value() == before.has_value();
  return std::equal(is->begin(), is->end(), before->begin(), before->end(),
                    [](const ResumeReplicas& a, const ResumeReplicas& b) { return same(a, b); });
}

bool same_groups(const PyTorchTrainingJobSpec& now, const PyTorchTrainingJobSpec& was) {
  return std::equal(now.replicaSpecs.begin(), now.replicaSpecs.end(), was.replicaSpecs.begin(),
                    was.replicaSpecs.end(),
                    [](const auto& a, const auto& b) { return same(a, b); });
}

// But for what may change of it.
ElasticConfig fixed_part(const PyTorchTrainingJobSpec& spec) {
  ElasticConfig fixed = spec.elastic.value_or(ElasticConfig());
  fixed.expectedReplicas.reset();
  return fixed;
}

void judge_change(const PyTorchTrainingJob& job, const PyTorchTrainingJob& before,
                  ErrorList& errors) {
  const PyTorchTrainingJobSpec &now = *job.spec, &was = *before.spec;
  const auto must_stay = [&errors](std::string_view path, bool stays) {
    if (!stays) errors.push_back(forbidden(std::string(path), immutable));
  };
  must_stay("spec.replicaSpecs", same_groups(now, was));
  must_stay("spec.torchrunConfig", same_part(now.torchrunConfig, was.torchrunConfig));
  const ElasticConfig is = fixed_part(now), old = fixed_part(was);
  must_stay("spec.elastic.enabled", is.enabled == old.enabled);
  must_stay("spec.elastic.minReplicas", is.minReplicas == old.minReplicas);
  must_stay("spec.elastic.maxReplicas", is.maxReplicas == old.maxReplicas);
  must_stay("spec.runMode.debug", same_part(debug_of(now), debug_of(was)));
  must_stay("spec.runMode.pause.resumeSpecs", same_resume(now, was));
  must_stay("spec.tensorboardSpec", now.tensorboardSpec == was.tensorboardSpec);
  must_stay("spec.scheduler", same_part(now.scheduler, was.scheduler));
  const bool finished =
      before.status && (before.status->is_true("Completed") || before.status->is_true("Failed"));
  if (finished)
    must_stay("spec.runPolicy.cleanUpPolicy", clean_up_policy(now) == clean_up_policy(was));
}

}  // namespace

std::optional<Error> review(const PyTorchTrainingJob& job, const PyTorchTrainingJob* old) {
  ErrorList errors;
  const PyTorchTrainingJobSpec& spec = *job.spec;
  judge_name(job, errors);
  judge_groups(spec, errors);
  judge_elastic(spec, errors);
  judge_modes(spec, errors);
  if (old != nullptr) judge_change(job, *old, errors);
  return invalid_by(webhook_name, job, errors);
}

bool fill_defaults(PyTorchTrainingJob& job) {
  const auto& elastic = job.spec->elastic;
  if (!elastic || !elastic->enabled || elastic->expectedReplicas) return false;
  if (!elastic->minReplicas || !elastic->maxReplicas) return false;  // refused
  const int expected = default_expected(*job.spec);
  job.spec.edit().elastic->expectedReplicas = expected;
  return true;
}

}  // namespace ddptwin::controller::t9k
