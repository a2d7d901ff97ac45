// kubeflow.org/v1 PyTorchJob (spec/pytorchjob.md section 1).
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct ReplicaSpec {
  std::optional<std::int32_t> replicas{};
  PodTemplateSpec template_{};
  std::string restartPolicy{};  // Always, OnFailure, Never, ExitCode; any text is accepted
  static const Type& type();
};

struct SchedulingPolicy {
  std::optional<std::int32_t> minAvailable{};
  std::string queue{};
  std::optional<ResourceList> minResources{};
  std::string priorityClass{};
  std::optional<std::int32_t> scheduleTimeoutSeconds{};
  static const Type& type();
};

struct RunPolicy {
  std::optional<std::string> cleanPodPolicy{};
  std::optional<std::int32_t> ttlSecondsAfterFinished{};
  std::optional<std::int64_t> activeDeadlineSeconds{};
  std::optional<std::int32_t> backoffLimit{};
  std::optional<SchedulingPolicy> schedulingPolicy{};
  std::optional<bool> suspend{};
  std::optional<std::string> managedBy{};
  static const Type& type();
};

struct RDZVConf {
  std::string key{};
  std::string value{};
  static const Type& type();
};

struct ElasticPolicy {
  std::optional<std::int32_t> minReplicas{};
  std::optional<std::int32_t> maxReplicas{};
  std::optional<std::string> rdzvBackend{};
  std::optional<std::int32_t> rdzvPort{};
  std::optional<std::string> rdzvHost{};
  std::optional<std::string> rdzvId{};
  std::optional<std::vector<RDZVConf>> rdzvConf{};  // an empty list is not the same as none (Q12)
  std::optional<bool> standalone{};
  std::optional<std::int32_t> nProcPerNode{};
  std::optional<std::int32_t> maxRestarts{};
  RawJson metrics{};  // autoscaling/v2 MetricSpec list, handed on verbatim
  static const Type& type();
};

using ReplicaSpecs = std::map<std::string, ReplicaSpec, std::less<>>;  // Master, Worker

struct PyTorchJobSpec {
  RunPolicy runPolicy{};
  std::optional<ElasticPolicy> elasticPolicy{};
  std::optional<ReplicaSpecs> pytorchReplicaSpecs{};
  std::optional<std::string> nprocPerNode{};
  static const Type& type();
};

struct JobCondition {
  std::string type_{};
  std::string status{};
  std::string reason{};
  std::string message{};
  OptionalTime lastUpdateTime{};
  OptionalTime lastTransitionTime{};
  static const Type& type();
};

struct ReplicaStatus {
  std::int32_t active = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  RawJson labelSelector{};
  Cow<std::string> selector{};
  static const Type& type();
};

struct JobStatus {
  Cow<std::vector<JobCondition>> conditions{};
  std::optional<std::map<std::string, ReplicaStatus, std::less<>>> replicaStatuses{};
  OptionalTime startTime{};
  OptionalTime completionTime{};
  OptionalTime lastReconcileTime{};
  static const Type& type();

  const JobCondition* condition(std::string_view type) const;
  bool is_true(std::string_view type) const;
};

struct PyTorchJob final : ObjectOf<PyTorchJob> {
  Verbatim<PyTorchJobSpec> spec{};
  std::optional<JobStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
