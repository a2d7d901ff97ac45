#include "objects/training_runtime.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/trainer_definition.hpp"

namespace ddptwin {
namespace {

// Both kinds' own.
const RawJson& schema_of_runtimes() {
  static const RawJson schema = training_runtime_schema();
  return schema;
}

}  // namespace

const Type& EnvInjectionTarget::type() {
  using S = EnvInjectionTarget;
  static const Type t =
      structure<S>("v1alpha1.EnvInjectionTarget", {F(jobName), F(containerNames)});
  return t;
}
const Type& EnvInjection::type() {
  using S = EnvInjection;
  static const Type t = structure<S>("v1alpha1.EnvInjection", {F(targets)});
  return t;
}
const Type& TorchElasticPolicy::type() {
  using S = TorchElasticPolicy;
  static const Type t = structure<S>("v1alpha1.TorchElasticPolicy",
                                     {F(maxRestarts), F(minNodes), F(maxNodes), F(metrics)});
  return t;
}
const Type& TorchPolicy::type() {
  using S = TorchPolicy;
  static const Type t = structure<S>("v1alpha1.TorchMLPolicySource",
                                     {F(numProcPerNode), F(elasticPolicy), F(envInjection)});
  return t;
}
const Type& MPIPolicy::type() {
  using S = MPIPolicy;
  static const Type t = structure<S>(
      "v1alpha1.MPIMLPolicySource",
      {F(numProcPerNode), F(mpiImplementation), F(sshAuthMountPath), F(runLauncherAsNode)});
  return t;
}
const Type& FluxPolicy::type() {
  using S = FluxPolicy;
  static const Type t = structure<S>("v1alpha1.FluxMLPolicySource", {F(numProcPerNode)});
  return t;
}
const Type& JAXPolicy::type() {
  static const Type t = structure<JAXPolicy>("v1alpha1.JAXMLPolicySource", {});
  return t;
}
const Type& XGBoostPolicy::type() {
  static const Type t = structure<XGBoostPolicy>("v1alpha1.XGBoostMLPolicySource", {});
  return t;
}
const Type& MLPolicy::type() {
  using S = MLPolicy;
  static const Type t = structure<S>("v1alpha1.MLPolicy",
                                     {F(numNodes), F(torch), F(mpi), F(flux), F(jax), F(xgboost)});
  return t;
}
const Type& CoschedulingPolicy::type() {
  using S = CoschedulingPolicy;
  static const Type t =
      structure<S>("v1alpha1.CoschedulingPodGroupPolicySource", {F(scheduleTimeoutSeconds)});
  return t;
}
const Type& NetworkTopology::type() {
  using S = NetworkTopology;
  static const Type t =
      structure<S>("v1beta1.NetworkTopologySpec", {F(mode), F(highestTierAllowed)});
  return t;
}
const Type& VolcanoPolicy::type() {
  using S = VolcanoPolicy;
  static const Type t = structure<S>("v1alpha1.VolcanoPodGroupPolicySource", {F(networkTopology)});
  return t;
}
const Type& PodGroupPolicy::type() {
  using S = PodGroupPolicy;
  static const Type t = structure<S>("v1alpha1.PodGroupPolicy", {F(coscheduling), F(volcano)});
  return t;
}
const Type& JobSetTemplateSpec::type() {
  using S = JobSetTemplateSpec;
  static const Type t = structure<S>("v1alpha1.JobSetTemplateSpec", {F(metadata), F(spec)});
  return t;
}
const Type& TrainingRuntimeSpec::type() {
  using S = TrainingRuntimeSpec;
  static const Type t =
      structure<S>("v1alpha1.TrainingRuntimeSpec", {F(mlPolicy), F(podGroupPolicy), F(template_)});
  return t;
}
const Type& TrainingRuntime::type() {
  using S = TrainingRuntime;
  static const Type t = structure<S>("v1alpha1.TrainingRuntime", {F(metadata), F(spec)});
  return t;
}
const Type& ClusterTrainingRuntime::type() {
  using S = ClusterTrainingRuntime;
  static const Type t = structure<S>("v1alpha1.ClusterTrainingRuntime", {F(metadata), F(spec)});
  return t;
}

const KindInfo& TrainingRuntime::info() {
  static const KindInfo kind{
      .group = "trainer.kubeflow.org",
      .version = "v1alpha1",
      .kind = "TrainingRuntime",
      .plural = "trainingruntimes",
      .singular = "trainingruntime",
      .custom = true,
      .schema = schema_of_runtimes(),
      .type = &TrainingRuntime::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<TrainingRuntime>(); }};
  return kind;
}

const KindInfo& ClusterTrainingRuntime::info() {
  static const KindInfo kind{.group = "trainer.kubeflow.org",
                             .version = "v1alpha1",
                             .kind = "ClusterTrainingRuntime",
                             .plural = "clustertrainingruntimes",
                             .singular = "clustertrainingruntime",
                             .namespaced = false,
                             .custom = true,
                             .schema = schema_of_runtimes(),
                             .type = &ClusterTrainingRuntime::type,
                             .make = []() -> std::shared_ptr<Object> {
                               return std::make_shared<ClusterTrainingRuntime>();
                             }};
  return kind;
}

}  // namespace ddptwin
