#include "objects/trainjob.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/trainer_definition.hpp"

namespace ddptwin {

const Type& RuntimeRef::type() {
  using S = RuntimeRef;
  static const Type t = structure<S>("v1alpha1.RuntimeRef", {F(name), F(apiGroup), F(kind)});
  return t;
}
const Type& InitializerSecret::type() {
  using S = InitializerSecret;
  static const Type t = structure<S>("v1alpha1.LocalObjectReference", {F(name)});
  return t;
}
const Type& InitializerSource::type() {
  using S = InitializerSource;
  static const Type t =
      structure<S>("v1alpha1.InitializerSource", {F(storageUri), F(env), F(secretRef)});
  return t;
}
const Type& Initializer::type() {
  using S = Initializer;
  static const Type t = structure<S>("v1alpha1.Initializer", {F(dataset), F(model)});
  return t;
}
const Type& TrainJobTrainer::type() {
  using S = TrainJobTrainer;
  static const Type t = structure<S>(
      "v1alpha1.Trainer",
      {F(image), F(command), F(args), F(env), F(numNodes), F(resourcesPerNode), F(numProcPerNode)});
  return t;
}
const Type& ContainerPatch::type() {
  using S = ContainerPatch;
  static const Type t = structure<S>("v1alpha1.ContainerPatch",
                                     {F(name), F(env), F(volumeMounts), F(securityContext)});
  return t;
}
const Type& PodSpecPatch::type() {
  using S = PodSpecPatch;
  static const Type t =
      structure<S>("v1alpha1.PodSpecPatch",
                   {F(serviceAccountName), F(volumes), F(initContainers), F(containers),
                    F(imagePullSecrets), F(securityContext), F(nodeSelector), F(affinity),
                    F(tolerations), F(schedulingGates), F(terminationGracePeriodSeconds)});
  return t;
}
const Type& PodTemplatePatch::type() {
  using S = PodTemplatePatch;
  static const Type t = structure<S>("v1alpha1.PodTemplatePatch", {F(metadata), F(spec)});
  return t;
}
const Type& JobSpecPatch::type() {
  using S = JobSpecPatch;
  static const Type t = structure<S>("v1alpha1.JobSpecPatch", {F(template_)});
  return t;
}
const Type& JobTemplatePatch::type() {
  using S = JobTemplatePatch;
  static const Type t = structure<S>("v1alpha1.JobTemplatePatch", {F(metadata), F(spec)});
  return t;
}
const Type& ReplicatedJobPatch::type() {
  using S = ReplicatedJobPatch;
  static const Type t = structure<S>("v1alpha1.ReplicatedJobPatch", {F(name), F(template_)});
  return t;
}
const Type& JobSetSpecPatch::type() {
  using S = JobSetSpecPatch;
  static const Type t = structure<S>("v1alpha1.JobSetSpecPatch", {F(replicatedJobs)});
  return t;
}
const Type& JobSetTemplatePatch::type() {
  using S = JobSetTemplatePatch;
  static const Type t = structure<S>("v1alpha1.JobSetTemplatePatch", {F(metadata), F(spec)});
  return t;
}
const Type& TrainingRuntimeSpecPatch::type() {
  using S = TrainingRuntimeSpecPatch;
  static const Type t = structure<S>("v1alpha1.TrainingRuntimeSpecPatch", {F(template_)});
  return t;
}
const Type& RuntimePatch::type() {
  using S = RuntimePatch;
  static const Type t =
      structure<S>("v1alpha1.RuntimePatch", {F(manager), F(time), F(trainingRuntimeSpec)});
  return t;
}
const Type& PodSpecOverride::type() {
  using S = PodSpecOverride;
  static const Type t =
      structure<S>("v1alpha1.PodSpecOverride", {F(targetJobs), F(patch, .embedded = true)});
  return t;
}
const Type& PodTemplateOverride::type() {
  using S = PodTemplateOverride;
  static const Type t =
      structure<S>("v1alpha1.PodTemplateOverride", {F(targetJobs), F(metadata), F(spec)});
  return t;
}
const Type& TrainJobSpec::type() {
  using S = TrainJobSpec;
  static const Type t =
      structure<S>("v1alpha1.TrainJobSpec",
                   {F(runtimeRef), F(initializer), F(trainer), F(labels), F(annotations),
                    F(podSpecOverrides), F(podTemplateOverrides), F(runtimePatches), F(suspend),
                    F(activeDeadlineSeconds), F(managedBy)});
  return t;
}
const Type& TrainJobJobStatus::type() {
  using S = TrainJobJobStatus;
  static const Type t =
      structure<S>("v1alpha1.JobStatus", {F(name, .always = true), F(ready, .always = true),
                                          F(succeeded, .always = true), F(failed, .always = true),
                                          F(active, .always = true), F(suspended, .always = true)});
  return t;
}
const Type& TrainerMetric::type() {
  using S = TrainerMetric;
  static const Type t = structure<S>("v1alpha1.Metric", {F(name), F(value)});
  return t;
}
const Type& TrainerStatus::type() {
  using S = TrainerStatus;
  static const Type t = structure<S>(
      "v1alpha1.TrainerStatus",
      {F(progressPercentage), F(estimatedRemainingSeconds), F(metrics), F(lastUpdatedTime)});
  return t;
}
const Type& TrainJobStatus::type() {
  using S = TrainJobStatus;
  static const Type t =
      structure<S>("v1alpha1.TrainJobStatus", {F(conditions), F(jobsStatus), F(trainerStatus)});
  return t;
}
const JobSetCondition* TrainJobStatus::condition(std::string_view wanted) const {
  for (const JobSetCondition& one : conditions)
    if (one.type_ == wanted) return &one;
  return nullptr;
}
bool TrainJobStatus::is_true(std::string_view wanted) const {
  const JobSetCondition* found = condition(wanted);
  return found != nullptr && found->status == "True";
}
const Type& TrainJob::type() {
  using S = TrainJob;
  static const Type t = structure<S>("v1alpha1.TrainJob", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& TrainJob::info() {
  static const KindInfo kind{
      .group = "trainer.kubeflow.org",
      .version = "v1alpha1",
      .kind = "TrainJob",
      .plural = "trainjobs",
      .singular = "trainjob",
      .status = true,
      .custom = true,
      .schema = trainjob_schema(),
      .type = &TrainJob::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<TrainJob>(); },
      .columns = {{.name = "State", .type = "string", .json_path = ".status.conditions[-1:].type"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

}  // namespace ddptwin
