// jobset.x-k8s.io/v1alpha2 JobSet: Jobs that are one (spec/trainjob.md §5).
#pragma once

#include "objects/batch_v1.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin {

struct JobSetDependency {
  std::string name{};
  std::string status{};  // Ready, Complete
  static const Type& type();
};
struct ReplicatedJob {
  std::string name{};
  std::string groupName{};
  JobTemplateSpec template_{};
  std::int32_t replicas = 0;
  std::optional<std::vector<JobSetDependency>>
      dependsOn{};  // an empty list is not the same as none
  static const Type& type();
};
struct JobSetNetwork {
  std::optional<bool> enableDNSHostnames{};
  std::string subdomain{};
  std::optional<bool> publishNotReadyAddresses{};
  static const Type& type();
};
struct JobSetSuccessPolicy {
  std::string operator_{};  // All, Any
  std::vector<std::string> targetReplicatedJobs{};
  static const Type& type();
};
struct JobSetFailureRule {
  std::string name{};
  std::string action{};
  std::vector<std::string> onJobFailureReasons{};
  std::vector<std::string> onJobFailureMessagePatterns{};
  std::vector<std::string> targetReplicatedJobs{};
  static const Type& type();
};
struct JobSetFailurePolicy {
  std::int32_t maxRestarts = 0;
  std::string restartStrategy{};  // Recreate, BlockingRecreate, InPlaceRestart
  std::vector<JobSetFailureRule> rules{};
  static const Type& type();
};
struct JobSetStartupPolicy {
  std::string startupPolicyOrder{};  // AnyOrder, InOrder
  static const Type& type();
};
struct JobSetCoordinator {
  std::string replicatedJob{};
  std::int64_t jobIndex = 0;
  std::int64_t podIndex = 0;
  static const Type& type();
};
struct JobSetClaimRetention {
  std::optional<std::string> whenDeleted{};  // Delete, Retain
  static const Type& type();
};
struct JobSetClaimPolicy {
  std::vector<ClaimTemplate> templates{};
  std::optional<JobSetClaimRetention> retentionPolicy{};
  static const Type& type();
};

struct JobSetSpec {
  std::vector<ReplicatedJob> replicatedJobs{};
  std::optional<JobSetNetwork> network{};
  std::optional<JobSetSuccessPolicy> successPolicy{};
  std::optional<JobSetFailurePolicy> failurePolicy{};
  std::optional<JobSetStartupPolicy> startupPolicy{};
  std::optional<bool> suspend{};
  std::optional<JobSetCoordinator> coordinator{};
  std::optional<std::string> managedBy{};
  std::optional<std::int32_t> ttlSecondsAfterFinished{};
  std::vector<JobSetClaimPolicy> volumeClaimPolicies{};
  static const Type& type();

  bool is_suspended() const { return suspend.value_or(false); }
};

// metav1.Condition
struct JobSetCondition {
  std::string type_{};
  std::string status{};
  OptionalInt64 observedGeneration{};
  OptionalTime lastTransitionTime{};
  std::string reason{};
  std::string message{};
  static const Type& type();
};
struct ReplicatedJobStatus {
  std::string name{};
  std::int32_t ready = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::int32_t active = 0;
  std::int32_t suspended = 0;
  std::vector<std::int32_t> jobRestarts{};
  std::vector<std::int32_t> jobRestartsCountTowardsMax{};
  static const Type& type();
  bool operator==(const ReplicatedJobStatus&) const = default;
};
struct JobSetStatus {
  std::vector<JobSetCondition> conditions{};
  std::int32_t restarts = 0;
  std::int32_t restartsCountTowardsMax = 0;
  std::string terminalState{};  // Completed, Failed
  std::vector<ReplicatedJobStatus> replicatedJobsStatus{};
  std::optional<std::int32_t> previousInPlaceRestartAttempt{};
  std::optional<std::int32_t> currentInPlaceRestartAttempt{};
  static const Type& type();

  const JobSetCondition* condition(std::string_view type) const;
  bool is_true(std::string_view type) const;
  bool is_finished() const { return is_true("Completed") || is_true("Failed"); }
};

struct JobSet final : ObjectOf<JobSet> {
  Verbatim<JobSetSpec> spec{};
  std::optional<JobSetStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
