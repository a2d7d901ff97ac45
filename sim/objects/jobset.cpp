#include "objects/jobset.hpp"

#include "objects/fields.hpp"
#include "objects/jobset_definition.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {

const Type& JobSetDependency::type() {
  using S = JobSetDependency;
  static const Type t =
      structure<S>("v1alpha2.DependsOn", {F(name, .always = true), F(status, .always = true)});
  return t;
}
const Type& ReplicatedJob::type() {
  using S = ReplicatedJob;
  static const Type t = structure<S>(
      "v1alpha2.ReplicatedJob",
      {F(name, .always = true), F(groupName), F(template_), F(replicas), F(dependsOn)});
  return t;
}
const Type& JobSetNetwork::type() {
  using S = JobSetNetwork;
  static const Type t = structure<S>(
      "v1alpha2.Network", {F(enableDNSHostnames), F(subdomain), F(publishNotReadyAddresses)});
  return t;
}
const Type& JobSetSuccessPolicy::type() {
  using S = JobSetSuccessPolicy;
  static const Type t = structure<S>("v1alpha2.SuccessPolicy",
                                     {F(operator_, .always = true), F(targetReplicatedJobs)});
  return t;
}
const Type& JobSetFailureRule::type() {
  using S = JobSetFailureRule;
  static const Type t =
      structure<S>("v1alpha2.FailurePolicyRule",
                   {F(name, .always = true), F(action, .always = true), F(onJobFailureReasons),
                    F(onJobFailureMessagePatterns), F(targetReplicatedJobs)});
  return t;
}
const Type& JobSetFailurePolicy::type() {
  using S = JobSetFailurePolicy;
  static const Type t =
      structure<S>("v1alpha2.FailurePolicy", {F(maxRestarts), F(restartStrategy), F(rules)});
  return t;
}
const Type& JobSetStartupPolicy::type() {
  using S = JobSetStartupPolicy;
  static const Type t =
      structure<S>("v1alpha2.StartupPolicy", {F(startupPolicyOrder, .always = true)});
  return t;
}
const Type& JobSetCoordinator::type() {
  using S = JobSetCoordinator;
  static const Type t = structure<S>("v1alpha2.Coordinator",
                                     {F(replicatedJob, .always = true), F(jobIndex), F(podIndex)});
  return t;
}
const Type& JobSetClaimRetention::type() {
  using S = JobSetClaimRetention;
  static const Type t = structure<S>("v1alpha2.VolumeRetentionPolicy", {F(whenDeleted)});
  return t;
}
const Type& JobSetClaimPolicy::type() {
  using S = JobSetClaimPolicy;
  static const Type t =
      structure<S>("v1alpha2.VolumeClaimPolicy", {F(templates), F(retentionPolicy)});
  return t;
}
const Type& JobSetSpec::type() {
  using S = JobSetSpec;
  static const Type t = structure<S>(
      "v1alpha2.JobSetSpec",
      {F(replicatedJobs, .merge = Merge::merge, .merge_key = "name"), F(network), F(successPolicy),
       F(failurePolicy), F(startupPolicy), F(suspend), F(coordinator), F(managedBy),
       F(ttlSecondsAfterFinished), F(volumeClaimPolicies)});
  return t;
}
const Type& JobSetCondition::type() {
  using S = JobSetCondition;
  static const Type t =
      structure<S>("v1.Condition",
                   {F(type_, .always = true), F(status, .always = true), F(observedGeneration),
                    F(lastTransitionTime), F(reason, .always = true), F(message, .always = true)});
  return t;
}
const Type& ReplicatedJobStatus::type() {
  using S = ReplicatedJobStatus;
  static const Type t =
      structure<S>("v1alpha2.ReplicatedJobStatus",
                   {F(name, .always = true), F(ready, .always = true), F(succeeded, .always = true),
                    F(failed, .always = true), F(active, .always = true),
                    F(suspended, .always = true), F(jobRestarts), F(jobRestartsCountTowardsMax)});
  return t;
}
const Type& JobSetStatus::type() {
  using S = JobSetStatus;
  static const Type t = structure<S>(
      "v1alpha2.JobSetStatus",
      {F(conditions), F(restarts, .always = true), F(restartsCountTowardsMax), F(terminalState),
       F(replicatedJobsStatus), F(previousInPlaceRestartAttempt), F(currentInPlaceRestartAttempt)});
  return t;
}
const JobSetCondition* JobSetStatus::condition(std::string_view wanted) const {
  for (const JobSetCondition& one : conditions)
    if (one.type_ == wanted) return &one;
  return nullptr;
}
bool JobSetStatus::is_true(std::string_view wanted) const {
  const JobSetCondition* found = condition(wanted);
  return found != nullptr && found->status == "True";
}
const Type& JobSet::type() {
  using S = JobSet;
  static const Type t = structure<S>("v1alpha2.JobSet", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& JobSet::info() {
  static const KindInfo kind{
      .group = "jobset.x-k8s.io",
      .version = "v1alpha2",
      .kind = "JobSet",
      .plural = "jobsets",
      .singular = "jobset",
      .status = true,
      .custom = true,
      .schema = jobset_schema(),
      .type = &JobSet::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<JobSet>(); },
      .columns = {{.name = "TerminalState",
                   .type = "string",
                   .description = "Final state of JobSet",
                   .json_path = ".status.terminalState"},
                  {.name = "Restarts",
                   .type = "string",
                   .description = "Number of restarts",
                   .json_path = ".status.restarts"},
                  {.name = "Completed",
                   .type = "string",
                   .json_path = ".status.conditions[?(@.type==\"Completed\")].status"},
                  {.name = "Suspended",
                   .type = "string",
                   .description = "JobSet suspended",
                   .json_path = ".spec.suspend"},
                  {.name = "Age",
                   .type = "date",
                   .description = "Time this JobSet was created",
                   .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

}  // namespace ddptwin
