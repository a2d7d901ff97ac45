// trainer.kubeflow.org/v1alpha1 TrainingRuntime and ClusterTrainingRuntime: what TrainJobs are
// made from (spec/trainjob.md §1.4). Every release calls its version v1alpha1, whatever fields it
// has: the structs have those of all of them, and each release's definition prunes the others.
#pragma once

#include "objects/jobset.hpp"

namespace ddptwin {

// Beside the container node, who gets the variables of torch.
struct EnvInjectionTarget {
  std::string jobName{};
  std::vector<std::string> containerNames{};
  static const Type& type();
};
struct EnvInjection {
  std::vector<EnvInjectionTarget> targets{};
  static const Type& type();
};
// Up to v2.1, and without effect in them.
struct TorchElasticPolicy {
  std::optional<std::int32_t> maxRestarts{};
  std::optional<std::int32_t> minNodes{};
  std::optional<std::int32_t> maxNodes{};
  RawJson metrics{};
  static const Type& type();
};
struct TorchPolicy {
  std::optional<IntOrString> numProcPerNode{};  // up to v2.1: auto, cpu, gpu or a number
  std::optional<TorchElasticPolicy> elasticPolicy{};
  std::optional<EnvInjection> envInjection{};  // from v2.3
  static const Type& type();
};
struct MPIPolicy {
  std::optional<std::int32_t> numProcPerNode{};
  std::optional<std::string> mpiImplementation{};  // OpenMPI
  std::optional<std::string> sshAuthMountPath{};
  std::optional<bool> runLauncherAsNode{};
  static const Type& type();
};
struct FluxPolicy {
  std::optional<std::int32_t> numProcPerNode{};
  static const Type& type();
};
struct JAXPolicy {
  static const Type& type();
};
struct XGBoostPolicy {
  static const Type& type();
};
// One of the sources at most.
struct MLPolicy {
  std::optional<std::int32_t> numNodes{};
  std::optional<TorchPolicy> torch{};
  std::optional<MPIPolicy> mpi{};
  std::optional<FluxPolicy> flux{};
  std::optional<JAXPolicy> jax{};
  std::optional<XGBoostPolicy> xgboost{};
  static const Type& type();
};

struct CoschedulingPolicy {
  std::optional<std::int32_t> scheduleTimeoutSeconds{};
  static const Type& type();
};
// Volcano's NetworkTopologySpec
struct NetworkTopology {
  std::string mode{};  // hard, soft
  std::optional<std::int64_t> highestTierAllowed{};
  static const Type& type();
};
struct VolcanoPolicy {
  std::optional<NetworkTopology> networkTopology{};
  static const Type& type();
};
struct PodGroupPolicy {
  std::optional<CoschedulingPolicy> coscheduling{};
  std::optional<VolcanoPolicy> volcano{};
  static const Type& type();
};

struct JobSetTemplateSpec {
  ObjectMeta metadata{};  // the JobSet gets its labels and annotations
  JobSetSpec spec{};
  static const Type& type();
};
struct TrainingRuntimeSpec {
  std::optional<MLPolicy> mlPolicy{};
  std::optional<PodGroupPolicy> podGroupPolicy{};
  JobSetTemplateSpec template_{};
  static const Type& type();
};

struct TrainingRuntime final : ObjectOf<TrainingRuntime> {
  Verbatim<TrainingRuntimeSpec> spec{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};
struct ClusterTrainingRuntime final : ObjectOf<ClusterTrainingRuntime> {
  Verbatim<TrainingRuntimeSpec> spec{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// Of a replicated job's template: trainer, dataset-initializer or model-initializer.
inline constexpr std::string_view ancestor_step_label =
    "trainer.kubeflow.org/trainjob-ancestor-step";

}  // namespace ddptwin
