// The HorizontalPodAutoscaler of an elastic job with metrics (spec/pytorchjob.md §3.5).
#include <boost/json.hpp>

#include "controller/training_operator/pass.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

std::shared_ptr<HorizontalPodAutoscaler> wanted(Pass& pass) {
  const PyTorchJob& job = pass.job;
  const ElasticPolicy& elastic = *job.spec->elasticPolicy;
  auto scaler = std::make_shared<HorizontalPodAutoscaler>();
  scaler->metadata.name = job.metadata.name;
  scaler->metadata.namespace_ = job.metadata.namespace_;
  scaler->metadata.ownerReferences = pass.owners();
  scaler->spec.scaleTargetRef = {"PyTorchJob", job.metadata.name.str(), "kubeflow.org/v1"};
  scaler->spec.minReplicas = elastic.minReplicas;
  scaler->spec.maxReplicas = elastic.maxReplicas.value_or(0);
  scaler->spec.metrics = elastic.metrics;
  return scaler;
}

}  // namespace

bool is_scaled(const PyTorchJobSpec& job) {
  return job.elasticPolicy && job.elasticPolicy->metrics.get() != nullptr;
}

void reconcile_autoscaler(Pass& pass) {
  // Dropped metrics leave the autoscaler where it is (Q26).
  if (!is_scaled(*pass.job.spec)) return;
  const auto& current = pass.seen.autoscaler;
  if (!current) {
    if (!is_suspended(pass.job))
      pass.add(Step{.rule = &rules::create_autoscaler, .request = api::create(wanted(pass))});
    return;
  }
  if (is_suspended(pass.job)) {
    pass.add(Step{.rule = &rules::delete_autoscaler, .request = api::remove(*current)});
    return;
  }
  const auto next = wanted(pass);
  if (equal(next->spec, current->spec)) return;
  next->metadata.resourceVersion = current->metadata.resourceVersion;
  pass.add(Step{.rule = &rules::update_autoscaler, .request = api::update(next)});
}

}  // namespace ddptwin::controller::pytorchjob
