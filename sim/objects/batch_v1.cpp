#include "objects/batch_v1.hpp"

#include <boost/json.hpp>

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/validation_batch_v1.hpp"

namespace ddptwin {
namespace {

Job& job_in(Object& object) { return static_cast<Job&>(object); }
const Job& job_in(const Object& object) { return static_cast<const Job&>(object); }

}  // namespace

const Type& OnExitCodes::type() {
  using S = OnExitCodes;
  static const Type t = structure<S>(
      "v1.PodFailurePolicyOnExitCodesRequirement",
      {F(containerName), F(operator_, .always = true), F(values, .always = true, .set = true)});
  return t;
}
const Type& OnPodCondition::type() {
  using S = OnPodCondition;
  static const Type t = structure<S>("v1.PodFailurePolicyOnPodConditionsPattern",
                                     {F(type_, .always = true), F(status, .always = true)});
  return t;
}
const Type& PodFailurePolicyRule::type() {
  using S = PodFailurePolicyRule;
  static const Type t =
      structure<S>("v1.PodFailurePolicyRule",
                   {F(action, .always = true), F(onExitCodes), F(onPodConditions, .atomic = true)});
  return t;
}
const Type& PodFailurePolicy::type() {
  using S = PodFailurePolicy;
  static const Type t =
      structure<S>("v1.PodFailurePolicy", {F(rules, .always = true, .atomic = true)});
  return t;
}
const Type& SuccessPolicyRule::type() {
  using S = SuccessPolicyRule;
  static const Type t =
      structure<S>("v1.SuccessPolicyRule", {F(succeededIndexes), F(succeededCount)});
  return t;
}
const Type& SuccessPolicy::type() {
  using S = SuccessPolicy;
  static const Type t =
      structure<S>("v1.SuccessPolicy", {F(rules, .always = true, .atomic = true)});
  return t;
}
const Type& JobSpec::type() {
  using S = JobSpec;
  static const Type t = structure<S>(
      "v1.JobSpec", {F(parallelism), F(completions), F(activeDeadlineSeconds), F(podFailurePolicy),
                     F(successPolicy), F(backoffLimit), F(backoffLimitPerIndex),
                     F(maxFailedIndexes), F(selector, .atomic = true), F(manualSelector),
                     F(template_, .always = true, .required = true), F(ttlSecondsAfterFinished),
                     F(completionMode), F(suspend), F(podReplacementPolicy), F(managedBy)});
  return t;
}
const Type& BatchJobCondition::type() {
  using S = BatchJobCondition;
  static const Type t = structure<S>(
      "v1.JobCondition", {F(type_, .always = true), F(status, .always = true), F(lastProbeTime),
                          F(lastTransitionTime), F(reason), F(message)});
  return t;
}
const Type& UncountedTerminatedPods::type() {
  using S = UncountedTerminatedPods;
  static const Type t = structure<S>("v1.UncountedTerminatedPods",
                                     {F(succeeded, .set = true), F(failed, .set = true)});
  return t;
}
const Type& BatchJobStatus::type() {
  using S = BatchJobStatus;
  static const Type t = structure<S>(
      "v1.JobStatus",
      {F(conditions, .merge = Merge::merge, .merge_key = "type", .atomic = true), F(startTime),
       F(completionTime), F(active), F(succeeded), F(failed), F(terminating), F(completedIndexes),
       F(failedIndexes), F(uncountedTerminatedPods), F(ready)});
  return t;
}
const BatchJobCondition* BatchJobStatus::condition(std::string_view wanted) const {
  for (const BatchJobCondition& one : conditions)
    if (one.type_ == wanted) return &one;
  return nullptr;
}
bool BatchJobStatus::is_true(std::string_view wanted) const {
  const BatchJobCondition* found = condition(wanted);
  return found != nullptr && found->status == "True";
}
const Type& Job::type() {
  using S = Job;
  static const Type t = structure<S>("v1.Job", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& Job::info() {
  static const KindInfo kind{
      .group = "batch",
      .version = "v1",
      .kind = "Job",
      .plural = "jobs",
      .singular = "job",
      .categories = {"all"},
      .status = true,
      .generation = true,
      .type = &Job::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<Job>(); },
      .strategy = {
          .defaults = [](Object& object) { default_job(job_in(object)); },
          .prepare_create =
              [](Object& object) {
                job_in(object).status = BatchJobStatus{};
                generate_selector(job_in(object));
              },
          .prepare_status_update =
              [](Object& updated, const Object& old) { job_in(updated).spec = job_in(old).spec; },
          .validate = &validate_job,
          .validate_update = &validate_job_update}};
  return kind;
}

}  // namespace ddptwin
