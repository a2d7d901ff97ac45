// T9k's kinds of a training: batch.tensorstack.dev/v1beta1 PyTorchTrainingJob, and the
// tensorstack.dev/v1beta1 TensorBoard that one may ask for (spec/t9k.md §2, §13).
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct PyTorchTrainingJobReplicas {
  std::string type_{};  // a role's name, free: worker, master, ps, node
  std::optional<std::int32_t> replicas{};
  std::optional<std::int32_t> scalingWeight{};
  PodTemplateSpec template_{};
  std::string restartPolicy{};  // Never, OnFailure, Always, ExitCode
  static const Type& type();
};

struct TorchrunConfig {
  bool enabled = false;
  std::optional<std::int32_t> maxRestarts{};
  std::string procPerNode{};  // a whole number, or gpu
  std::string rdzvBackend{};  // c10d, etcd, etcd-v2
  std::vector<std::string> extraOptions{};
  static const Type& type();
};

struct ElasticConfig {
  bool enabled = false;
  std::optional<std::int32_t> minReplicas{};
  std::optional<std::int32_t> maxReplicas{};
  std::optional<std::int32_t> expectedReplicas{};
  static const Type& type();
};

struct DebugReplicas {
  std::string type_{};
  bool skipInitContainer = false;
  std::optional<std::vector<std::string>> command{};
  static const Type& type();
};

struct DebugMode {
  bool enabled = false;
  std::vector<DebugReplicas> replicaSpecs{};
  static const Type& type();
};

struct ResumeReplicas {
  std::string type_{};
  bool skipInitContainer = false;
  std::optional<std::vector<std::string>> command{};
  std::optional<std::vector<std::string>> args{};
  static const Type& type();
};

struct PauseMode {
  bool enabled = false;
  std::optional<std::vector<ResumeReplicas>>
      resumeSpecs{};  // none is not the same as an empty list
  static const Type& type();
};

struct TrainingRunMode {
  std::optional<DebugMode> debug{};
  std::optional<PauseMode> pause{};
  static const Type& type();
};

struct TrainingRunPolicy {
  std::optional<std::int64_t> activeDeadlineSeconds{};
  std::optional<std::int32_t> backoffLimit{};
  std::string cleanUpPolicy{};  // None, All, Unfinished
  static const Type& type();
};

struct T9kSchedulerChoice {
  std::string queue{};
  std::optional<std::int32_t> priority{};
  static const Type& type();
};

struct TrainingScheduler {
  std::optional<T9kSchedulerChoice> t9kScheduler{};
  static const Type& type();
};

struct PyTorchTrainingJobSpec {
  std::vector<PyTorchTrainingJobReplicas> replicaSpecs{};
  std::optional<TorchrunConfig> torchrunConfig{};
  std::optional<ElasticConfig> elastic{};
  std::optional<TrainingRunMode> runMode{};
  TrainingRunPolicy runPolicy{};
  RawJson tensorboardSpec{};  // handed on verbatim
  std::optional<TrainingScheduler> scheduler{};
  static const Type& type();
};

struct TrainingCondition {
  std::string type_{};  // Initialized, Running, ReplicaFailure, Completed, Failed, Paused
  std::string status{};
  std::string reason{};
  std::string message{};
  OptionalTime lastTransitionTime{};
  static const Type& type();
  bool operator==(const TrainingCondition&) const = default;
};

struct TaskContainer {
  std::string name{};
  std::string state{};  // Waiting, Running, Terminated
  std::optional<std::int32_t> exitCode{};
  static const Type& type();
  bool operator==(const TaskContainer&) const = default;
};

struct TaskReplica {
  std::string name{};
  std::string uid{};
  std::string phase{};  // a pod's, or Creating, Deleted
  std::vector<TaskContainer> containers{};
  std::string lastRestartedUID{};  // the twin's own: the pod whose restart is counted
  static const Type& type();
  bool operator==(const TaskReplica&) const = default;
};

struct TrainingTask {
  std::string type_{};
  std::int32_t restartCount = 0;
  std::vector<TaskReplica> replicas{};
  static const Type& type();
  bool operator==(const TrainingTask&) const = default;
};

struct TaskAggregate {
  std::int32_t creating = 0, pending = 0, running = 0, succeeded = 0, failed = 0, unknown = 0,
               deleted = 0;
  static const Type& type();
  bool operator==(const TaskAggregate&) const = default;
  int sum() const { return creating + pending + running + succeeded + failed + unknown + deleted; }
};

struct DependentReference {
  std::string apiVersion{};
  std::string kind{};
  std::string name{};
  std::string namespace_{};
  std::string uid{};
  static const Type& type();
  bool operator==(const DependentReference&) const = default;
};

struct DependentStatus {
  std::string action{};  // NOP, Create
  std::optional<DependentReference> dependent{};
  std::string note{};
  bool ready = false;
  std::string reason{};
  std::string type_{};  // Normal, Warning
  static const Type& type();
  bool operator==(const DependentStatus&) const = default;
};

struct PyTorchTrainingJobStatus {
  TaskAggregate aggregate{};
  std::int32_t backoffCount = 0;
  std::vector<TrainingCondition> conditions{};
  std::string phase{};  // Pending, Running, Paused, Resuming, Succeeded, Failed, Unknown
  OptionalTime startTime{};
  std::vector<TrainingTask> tasks{};
  std::optional<DependentStatus> tensorboard{};
  static const Type& type();
  bool operator==(const PyTorchTrainingJobStatus&) const = default;

  const TrainingCondition* condition(std::string_view type) const;
  bool is_true(std::string_view type) const;
  const TrainingTask* task(std::string_view type) const;
};

struct PyTorchTrainingJob final : ObjectOf<PyTorchTrainingJob> {
  Verbatim<PyTorchTrainingJobSpec> spec{};
  std::optional<PyTorchTrainingJobStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct TensorBoardSpec {
  bool suspend = false;
  Extra extra{};
  static const Type& type();
};

struct TensorBoardStatus {
  bool ready = false;
  static const Type& type();
};

struct TensorBoard final : ObjectOf<TensorBoard> {
  TensorBoardSpec spec{};
  std::optional<TensorBoardStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// The published schema of a PyTorchTrainingJob, and what holds where its spec is silent.
RawJson pytorchtrainingjob_schema();
inline constexpr std::int32_t training_backoff_limit = 3;             // spec/t9k.md §2.1
inline constexpr std::string_view training_restart_policy = "Never";  // PROPOSED (G1)
inline constexpr std::string_view training_clean_up = "None";         // PROPOSED (G2)
inline constexpr std::int32_t training_priority = 0;                  // PROPOSED (G3)
inline constexpr std::string_view training_queue = "default";         // PROPOSED (G4)
inline constexpr std::string_view training_processes = "1";           // PROPOSED

}  // namespace ddptwin
