// batch/v1: Job (spec/trainjob.md §6).
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct OnExitCodes {
  std::optional<std::string> containerName{};
  std::string operator_{};  // In, NotIn
  std::vector<std::int32_t> values{};
  static const Type& type();
};
struct OnPodCondition {
  std::string type_{};
  std::string status{};
  static const Type& type();
};
struct PodFailurePolicyRule {
  std::string action{};  // FailJob, FailIndex, Ignore, Count
  std::optional<OnExitCodes> onExitCodes{};
  std::vector<OnPodCondition> onPodConditions{};
  static const Type& type();
};
struct PodFailurePolicy {
  std::vector<PodFailurePolicyRule> rules{};
  static const Type& type();
};
struct SuccessPolicyRule {
  std::optional<std::string> succeededIndexes{};
  std::optional<std::int32_t> succeededCount{};
  static const Type& type();
};
struct SuccessPolicy {
  std::vector<SuccessPolicyRule> rules{};
  static const Type& type();
};

struct JobSpec {
  std::optional<std::int32_t> parallelism{};
  std::optional<std::int32_t> completions{};
  std::optional<std::int64_t> activeDeadlineSeconds{};
  std::optional<PodFailurePolicy> podFailurePolicy{};
  std::optional<SuccessPolicy> successPolicy{};
  std::optional<std::int32_t> backoffLimit{};
  std::optional<std::int32_t> backoffLimitPerIndex{};
  std::optional<std::int32_t> maxFailedIndexes{};
  std::optional<LabelSelector> selector{};
  std::optional<bool> manualSelector{};
  PodTemplateSpec template_{};
  std::optional<std::int32_t> ttlSecondsAfterFinished{};
  std::optional<std::string> completionMode{};  // NonIndexed, Indexed
  std::optional<bool> suspend{};
  std::optional<std::string> podReplacementPolicy{};  // TerminatingOrFailed, Failed
  std::optional<std::string> managedBy{};
  static const Type& type();

  bool is_indexed() const { return completionMode == "Indexed"; }
  bool is_suspended() const { return suspend.value_or(false); }
};

// From which others make Jobs.
struct JobTemplateSpec {
  ObjectMeta metadata{};
  Cow<JobSpec> spec{};
  Extra extra{};
  static const Type& type();
};

// Not the training operator's, which is called JobCondition too upstream.
struct BatchJobCondition {
  std::string type_{};
  std::string status{};
  OptionalTime lastProbeTime{};
  OptionalTime lastTransitionTime{};
  std::string reason{};
  std::string message{};
  static const Type& type();
};
struct UncountedTerminatedPods {
  std::vector<std::string> succeeded{};  // uids
  std::vector<std::string> failed{};
  static const Type& type();
};
struct BatchJobStatus {
  std::vector<BatchJobCondition> conditions{};
  OptionalTime startTime{};
  OptionalTime completionTime{};
  std::int32_t active = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::optional<std::int32_t> terminating{};
  std::string completedIndexes{};
  std::optional<std::string> failedIndexes{};
  std::optional<UncountedTerminatedPods> uncountedTerminatedPods{};
  std::optional<std::int32_t> ready{};
  static const Type& type();

  const BatchJobCondition* condition(std::string_view type) const;
  bool is_true(std::string_view type) const;
  bool is_finished() const { return is_true("Complete") || is_true("Failed"); }
};

struct Job final : ObjectOf<Job> {
  Cow<JobSpec> spec{};
  BatchJobStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// Keeps a finished pod until its Job has counted it.
inline constexpr std::string_view job_tracking_finalizer = "batch.kubernetes.io/job-tracking";

}  // namespace ddptwin
