#include "objects/batch_v1.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/selector.hpp"
#include "objects/validation_batch_v1.hpp"

namespace ddptwin {
namespace {

Job& job_in(Object& object) { return static_cast<Job&>(object); }
const Job& job_in(const Object& object) { return static_cast<const Job&>(object); }

std::vector<std::string> warn_of_job(const Object& object) {
  const auto problems = dns_label_problems(object.metadata.name);
  if (problems.empty()) return {};
  return {fmt::format(
      "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
      "behavior; a DNS label is recommended: [{}]",
      fmt::join(problems, " "))};
}

// ---- what kubectl get shows of it (upstream: printJob) -------------------------------------

std::string completions_cell(const Object& object, Time) {
  const Job& job = job_in(object);
  const std::int32_t succeeded = job.status.succeeded, at_once = job.spec->parallelism.value_or(0);
  if (job.spec->completions) return fmt::format("{}/{}", succeeded, *job.spec->completions);
  return at_once > 1 ? fmt::format("{}/1 of {}", succeeded, at_once)
                     : fmt::format("{}/1", succeeded);
}

std::string duration_cell(const Object& object, Time now) {
  const BatchJobStatus& status = job_in(object).status;
  if (!status.startTime) return {};
  return format_age(status.completionTime.value_or(now) - *status.startTime);
}

std::string status_cell(const Object& object, Time) {
  const BatchJobStatus& status = job_in(object).status;
  const auto first_of = [&status](std::initializer_list<const char*> types) -> std::string {
    for (const char* type : types)
      if (status.is_true(type)) return type;
    return {};
  };
  if (std::string end = first_of({"Complete", "Failed"}); !end.empty()) return end;
  if (object.metadata.deletionTimestamp) return "Terminating";
  const std::string stage = first_of({"Suspended", "FailureTarget", "SuccessCriteriaMet"});
  return stage.empty() ? "Running" : stage;
}

std::string age_cell(const Object& object, Time now) {
  const auto& created = object.metadata.creationTimestamp;
  return created ? format_age(now - *created) : "<unknown>";
}

template <class Member>
std::string containers_cell(const Object& object, Member member) {
  std::string text;
  for (const Container& one : job_in(object).spec->template_.spec->containers)
    text += (text.empty() ? "" : ",") + one.*member;
  return text;
}

std::string selector_cell(const Object& object, Time) {
  const auto& selector = job_in(object).spec->selector;
  if (!selector) return "<none>";
  const auto matcher = LabelMatcher::from(*selector);
  return !matcher || matcher->empty() ? "<none>" : matcher->text();
}

std::vector<PrinterColumn> job_columns() {
  const auto column = [](const char* name, auto cell, int priority) {
    PrinterColumn made;
    made.name = name;
    made.type = "string";
    made.priority = priority;
    made.cell = cell;
    return made;
  };
  return {
      column("Status", &status_cell, 0),
      column("Completions", &completions_cell, 0),
      column("Duration", &duration_cell, 0),
      column("Age", &age_cell, 0),
      column(
          "Containers", [](const Object& o, Time) { return containers_cell(o, &Container::name); },
          1),
      column(
          "Images", [](const Object& o, Time) { return containers_cell(o, &Container::image); }, 1),
      column("Selector", &selector_cell, 1)};
}

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
const Type& JobTemplateSpec::type() {
  using S = JobTemplateSpec;
  static const Type t = structure<S>("v1.JobTemplateSpec", {F(metadata), F(spec)});
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
          .validate_update = &validate_job_update,
          .validate_status_update = &validate_job_status_update,
          .warnings = &warn_of_job,
          .orphans_unasked = "child pods are preserved by default when jobs are deleted; set "
                             "propagationPolicy=Background to remove them or set "
                             "propagationPolicy=Orphan to suppress this warning"},
      .columns = job_columns()};
  return kind;
}

}  // namespace ddptwin
