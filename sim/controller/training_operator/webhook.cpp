#include "controller/training_operator/webhook.hpp"

#include <algorithm>

#include "controller/training_operator/names.hpp"
#include "controller/training_operator/validation.hpp"
#include "objects/validation.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

constexpr std::string_view here = "kubeflow.org/training-operator";
constexpr std::string_view multikueue = "kueue.x-k8s.io/multikueue";
constexpr std::string_view managed_by_path = "spec.runPolicy.managedBy";

using Errors = std::vector<std::string>;

void judge_name(const PyTorchJob& job, Errors& errors) {
  std::string messages;
  for (const std::string& message : dns_label_errors(job.metadata.name))
    messages += (messages.empty() ? "" : ",") + message;
  if (!messages.empty())
    errors.push_back("metadata.name: Invalid value: " + quoted(job.metadata.name) +
                     ": should match: " + messages);
}

void judge_managed_by(const PyTorchJob& job, const PyTorchJob* old, Errors& errors) {
  const auto& by = job.spec->runPolicy.managedBy;
  if (by && *by != here && *by != multikueue)
    errors.push_back(std::string(managed_by_path) + ": Unsupported value: " + quoted(*by) +
                     ": supported values: " + quoted(multikueue) + ", " + quoted(here));
  if (old != nullptr && old->spec->runPolicy.managedBy != by)
    errors.push_back(std::string(managed_by_path) + ": Invalid value: " + quoted(by.value_or("")) +
                     ": field is immutable");
}

void judge_elastic(const PyTorchJob& job, const Profile& profile, Review& review, Errors& errors) {
  const auto& elastic = job.spec->elasticPolicy;
  if (!elastic) return;
  if (profile.elastic_needs_worker && replica_spec(job, worker_type) == nullptr)
    errors.emplace_back(
        "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is "
        "used");
  if (!elastic->nProcPerNode) return;
  review.warnings.emplace_back(
      "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead");
  if (job.spec->nprocPerNode)
    errors.emplace_back(
        "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode");
}

void judge_containers(const std::string& path, const std::vector<Container>& containers,
                      Errors& errors) {
  if (containers.empty()) errors.push_back(path + ": Required value: must be specified");
  for (std::size_t i = 0; i < containers.size(); ++i)
    if (containers[i].image.empty())
      errors.push_back(path + "[" + std::to_string(i) +
                       "].image: Required value: must be required");
  if (std::none_of(containers.begin(), containers.end(),
                   [](const Container& c) { return c.name == container_name; }))
    errors.push_back(path + ": Required value: must have at least one container with name pytorch");
}

void judge_replica(const std::string& type, const ReplicaSpec& spec, const Profile& profile,
                   Errors& errors) {
  const std::string path = "spec.pytorchReplicaSpecs[" + type + "]";
  if (type != master_type && type != worker_type)
    errors.push_back(path + ": Unsupported value: " + quoted(type) +
                     ": supported values: \"Master\", \"Worker\"");
  judge_containers(path + ".template.spec.containers", spec.template_.spec->containers, errors);
  if (type == master_type && spec.replicas != 1)
    errors.push_back(path + ".replicas: Forbidden: must be 1");
  if (type != master_type && profile.elastic_needs_worker && spec.replicas && *spec.replicas < 1)
    errors.push_back(path + ".replicas: Forbidden: must be at least 1");
}

// One error stands bare, several in brackets; equal ones are told once (apimachinery's aggregate).
std::string joined(const Errors& errors) {
  Errors once;
  for (const std::string& error : errors)
    if (std::find(once.begin(), once.end(), error) == once.end()) once.push_back(error);
  if (once.size() == 1) return once.front();
  std::string text = "[";
  for (const std::string& error : once) text += (text.size() == 1 ? "" : ", ") + error;
  return text + "]";
}

}  // namespace

Review review(const PyTorchJob& job, const PyTorchJob* old, const Profile& profile) {
  Review result;
  if (profile.validates_in_reconcile) return result;
  Errors errors;
  judge_name(job, errors);
  if (profile.managed_by) judge_managed_by(job, old, errors);
  judge_elastic(job, profile, result, errors);
  if (!job.spec->pytorchReplicaSpecs)
    errors.emplace_back("spec.pytorchReplicaSpecs: Required value: must be required");
  for (const auto& [type, spec] : replica_specs(job)) judge_replica(type, spec, profile, errors);
  if (!errors.empty())
    result.refused = Error{.reason = Reason::forbidden,
                           .message = "admission webhook \"" + std::string(webhook_name) +
                                      "\" denied the request: " + joined(errors)};
  return result;
}

}  // namespace ddptwin::controller::pytorchjob
