// trainer.kubeflow.org/v1alpha1 TrainJob: a run of a TrainingRuntime (spec/trainjob.md §1.1-1.3).
// The fields are those of all releases (§0.2); each release's definition prunes the others.
#pragma once

#include "objects/training_runtime.hpp"

namespace ddptwin {

struct RuntimeRef {
  std::string name{};
  std::optional<std::string> apiGroup{};
  std::optional<std::string> kind{};  // ClusterTrainingRuntime, TrainingRuntime
  static const Type& type();
};

struct InitializerSecret {
  std::string name{};
  static const Type& type();
};
// A data set's or a model's: what is fetched before the training.
struct InitializerSource {
  std::optional<std::string> storageUri{};
  std::vector<EnvVar> env{};
  std::optional<InitializerSecret> secretRef{};
  static const Type& type();
};
struct Initializer {
  std::optional<InitializerSource> dataset{};
  std::optional<InitializerSource> model{};
  static const Type& type();
};

// Upstream: Trainer.
struct TrainJobTrainer {
  std::optional<std::string> image{};
  std::optional<std::vector<std::string>> command{};  // empty and absent differ
  std::optional<std::vector<std::string>> args{};
  std::vector<EnvVar> env{};
  std::optional<std::int32_t> numNodes{};
  std::optional<ResourceRequirements> resourcesPerNode{};
  std::optional<IntOrString> numProcPerNode{};  // from v2.2: a number
  static const Type& type();
};

struct ContainerPatch {
  std::string name{};
  std::vector<EnvVar> env{};
  std::vector<VolumeMount> volumeMounts{};
  RawJson securityContext{};
  static const Type& type();
};
struct PodSpecPatch {
  std::optional<std::string> serviceAccountName{};
  std::vector<Volume> volumes{};
  std::vector<ContainerPatch> initContainers{};
  std::vector<ContainerPatch> containers{};
  std::vector<NamedItem> imagePullSecrets{};
  RawJson securityContext{};
  Cow<StringMap> nodeSelector{};
  std::optional<Affinity> affinity{};
  std::vector<Toleration> tolerations{};
  std::vector<NamedItem> schedulingGates{};
  std::optional<std::int64_t> terminationGracePeriodSeconds{};
  static const Type& type();
};
struct PodTemplatePatch {
  std::optional<ObjectMeta> metadata{};
  std::optional<PodSpecPatch> spec{};
  static const Type& type();
};
struct JobSpecPatch {
  std::optional<PodTemplatePatch> template_{};
  static const Type& type();
};
struct JobTemplatePatch {
  std::optional<ObjectMeta> metadata{};
  std::optional<JobSpecPatch> spec{};
  static const Type& type();
};
struct ReplicatedJobPatch {
  std::string name{};
  std::optional<JobTemplatePatch> template_{};
  static const Type& type();
};
struct JobSetSpecPatch {
  std::vector<ReplicatedJobPatch> replicatedJobs{};
  static const Type& type();
};
struct JobSetTemplatePatch {
  std::optional<ObjectMeta> metadata{};
  std::optional<JobSetSpecPatch> spec{};
  static const Type& type();
};
struct TrainingRuntimeSpecPatch {
  std::optional<JobSetTemplatePatch> template_{};
  static const Type& type();
};
struct RuntimePatch {
  std::string manager{};
  OptionalTime time{};
  std::optional<TrainingRuntimeSpecPatch> trainingRuntimeSpec{};
  static const Type& type();
};

// v2.0's podSpecOverrides: a PodSpecPatch of the jobs that are named beside it.
struct PodSpecOverride {
  std::vector<NamedItem> targetJobs{};
  PodSpecPatch patch{};  // inline
  static const Type& type();
};
// v2.1's podTemplateOverrides.
struct PodTemplateOverride {
  std::vector<NamedItem> targetJobs{};
  std::optional<ObjectMeta> metadata{};
  std::optional<PodSpecPatch> spec{};
  static const Type& type();
};

struct TrainJobSpec {
  RuntimeRef runtimeRef{};
  std::optional<Initializer> initializer{};
  std::optional<TrainJobTrainer> trainer{};
  std::optional<StringMap> labels{};                        // up to v2.1: of the JobSet
  std::optional<StringMap> annotations{};                   // up to v2.1
  std::vector<PodSpecOverride> podSpecOverrides{};          // v2.0
  std::vector<PodTemplateOverride> podTemplateOverrides{};  // v2.1
  std::vector<RuntimePatch> runtimePatches{};               // from v2.2
  std::optional<bool> suspend{};
  std::int64_t activeDeadlineSeconds = 0;  // from v2.2; 0: none
  std::optional<std::string> managedBy{};
  static const Type& type();

  bool is_suspended() const { return suspend.value_or(false); }
};

// Upstream: JobStatus. As JobSet's status has it of a replicated job.
struct TrainJobJobStatus {
  std::string name{};
  std::int32_t ready = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::int32_t active = 0;
  std::int32_t suspended = 0;
  static const Type& type();
  bool operator==(const TrainJobJobStatus&) const = default;
};
struct TrainerMetric {
  std::string name{};
  std::string value{};
  static const Type& type();
};
// Written by the trained program through the status server, gate TrainJobStatus.
struct TrainerStatus {
  std::optional<std::int32_t> progressPercentage{};
  std::optional<std::int32_t> estimatedRemainingSeconds{};
  std::vector<TrainerMetric> metrics{};
  OptionalTime lastUpdatedTime{};
  static const Type& type();
};
struct TrainJobStatus {
  std::vector<JobSetCondition> conditions{};  // metav1.Condition
  std::vector<TrainJobJobStatus> jobsStatus{};
  std::optional<TrainerStatus> trainerStatus{};
  static const Type& type();

  const JobSetCondition* condition(std::string_view type) const;
  bool is_true(std::string_view type) const;
  bool is_finished() const { return is_true("Complete") || is_true("Failed"); }
};

struct TrainJob final : ObjectOf<TrainJob> {
  Verbatim<TrainJobSpec> spec{};
  std::optional<TrainJobStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// spec.managedBy of those that are Trainer's own.
inline constexpr std::string_view trainjob_controller_name =
    "trainer.kubeflow.org/trainjob-controller";

}  // namespace ddptwin
