#include "objects/validation_batch_v1.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/defaults.hpp"
#include "objects/index_set.hpp"
#include "objects/selector.hpp"
#include "objects/validation_core_v1.hpp"

namespace ddptwin {
namespace {

const Text controller_uid = "batch.kubernetes.io/controller-uid",
           job_name = "batch.kubernetes.io/job-name", legacy_controller_uid = "controller-uid",
           legacy_job_name = "job-name";
constexpr std::int32_t parallelism_max_indexed = 100'000;
constexpr std::size_t rules_max = 20, exit_codes_max = 255;

using Names = std::vector<std::string_view>;

template <class T>
void must_not_be_negative(ErrorList& out, std::string_view field, const std::optional<T>& value) {
  if (value && *value < 0)
    out.push_back(
        invalid(std::string(field), std::to_string(*value), "must be greater than or equal to 0"));
}

void must_be_one_of(ErrorList& out, const FieldPath& path, std::string_view value,
                    const Names& supported) {
  if (std::find(supported.begin(), supported.end(), value) == supported.end())
    out.push_back(not_supported(path, quoted(value), supported));
}

// ---- policies ------------------------------------------------------------------------------

// As Go's encoder shows the server's own struct of it.
std::string shown_policy(const SuccessPolicy& policy) {
  std::vector<std::string> rules;
  for (const SuccessPolicyRule& rule : policy.rules)
    rules.push_back(
        fmt::format("{{\"SucceededIndexes\":{},\"SucceededCount\":{}}}",
                    rule.succeededIndexes ? quoted(*rule.succeededIndexes) : "null",
                    rule.succeededCount ? std::to_string(*rule.succeededCount) : "null"));
  return fmt::format("{{\"Rules\":[{}]}}", fmt::join(rules, ","));
}
std::string shown_policy(const PodFailurePolicy& policy) {
  std::vector<std::string> rules;
  for (const PodFailurePolicyRule& rule : policy.rules) {
    std::string codes = "null";
    if (rule.onExitCodes)
      codes = fmt::format(
          "{{\"ContainerName\":{},\"Operator\":{},\"Values\":[{}]}}",
          rule.onExitCodes->containerName ? quoted(*rule.onExitCodes->containerName) : "null",
          quoted(rule.onExitCodes->operator_), fmt::join(rule.onExitCodes->values, ","));
    std::vector<std::string> conditions;
    for (const OnPodCondition& one : rule.onPodConditions)
      conditions.push_back(
          fmt::format("{{\"Type\":{},\"Status\":{}}}", quoted(one.type_), quoted(one.status)));
    rules.push_back(fmt::format(
        "{{\"Action\":{},\"OnExitCodes\":{},\"OnPodConditions\":{}}}", quoted(rule.action), codes,
        conditions.empty() ? "null" : fmt::format("[{}]", fmt::join(conditions, ","))));
  }
  return fmt::format("{{\"Rules\":[{}]}}", fmt::join(rules, ","));
}

void check_exit_codes(ErrorList& out, const JobSpec& spec, const OnExitCodes& codes,
                      const FieldPath& path) {
  static const Names operators{"In", "NotIn"};
  must_be_one_of(out, path.field("operator"), codes.operator_, operators);
  if (codes.containerName) {
    const auto has = [&](const Cow<std::vector<Container>>& containers) {
      return std::any_of(containers.begin(), containers.end(),
                         [&](const Container& c) { return c.name == *codes.containerName; });
    };
    if (!has(spec.template_.spec->containers) && !has(spec.template_.spec->initContainers))
      out.push_back(
          invalid(path.field("containerName"), quoted(*codes.containerName),
                  "must be one of the container or initContainer names in the pod template"));
  }
  const FieldPath values = path.field("values");
  if (codes.values.empty())
    out.push_back(invalid(values, "[]", "at least one value is required"));
  else if (codes.values.size() > exit_codes_max)
    out.push_back(ErrorCause{.reason = "FieldValueTooMany",
                             .message = fmt::format("Too many: {}: must have at most {} items",
                                                    codes.values.size(), exit_codes_max),
                             .field = values});
  std::vector<std::int32_t> seen;
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    const std::int32_t value = codes.values[i];
    if (codes.operator_ == "In" && value == 0)
      out.push_back(invalid(values.item(i), "0", "must not be 0 for the In operator"));
    if (std::find(seen.begin(), seen.end(), value) != seen.end())
      out.push_back(duplicate(values.item(i), std::to_string(value)));
    seen.push_back(value);
  }
  if (!std::is_sorted(codes.values.begin(), codes.values.end()))
    out.push_back(
        invalid(values, fmt::format("[{}]", fmt::join(codes.values, ",")), "must be ordered"));
}

void check_conditions(ErrorList& out, const std::vector<OnPodCondition>& conditions,
                      const FieldPath& path) {
  static const Names statuses{"False", "True", "Unknown"};
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const FieldPath here = path.item(i);
    for (const std::string& problem : qualified_name_problems(conditions[i].type_))
      out.push_back(invalid(here.field("type"), quoted(conditions[i].type_), problem));
    must_be_one_of(out, here.field("status"), conditions[i].status, statuses);
  }
}

void check_failure_policy(ErrorList& out, const JobSpec& spec) {
  static const Names actions{"Count", "FailIndex", "FailJob", "Ignore"};
  const FieldPath path("spec.podFailurePolicy.rules");
  const auto& rules = spec.podFailurePolicy->rules;
  if (rules.size() > rules_max)
    out.push_back(ErrorCause{
        .reason = "FieldValueTooMany",
        .message = fmt::format("Too many: {}: must have at most {} items", rules.size(), rules_max),
        .field = path});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const PodFailurePolicyRule& rule = rules[i];
    const FieldPath here = path.item(i);
    if (rule.action.empty())
      out.push_back(required(here.field("action"),
                             "valid values: \"Count\", \"FailIndex\", "
                             "\"FailJob\", \"Ignore\""));
    else if (rule.action == "FailIndex" && !spec.backoffLimitPerIndex)
      out.push_back(invalid(here.field("action"), quoted(rule.action),
                            "requires the backoffLimitPerIndex to be set"));
    else
      must_be_one_of(out, here.field("action"), rule.action, actions);
    if (rule.onExitCodes) {
      check_exit_codes(out, spec, *rule.onExitCodes, here.field("onExitCodes"));
      if (!rule.onPodConditions.empty())
        out.push_back(ErrorCause{
            .reason = "FieldValueInvalid",
            .message = "Invalid value: specifying both OnExitCodes and OnPodConditions is not "
                       "supported",
            .field = here});
    } else if (rule.onPodConditions.empty()) {
      out.push_back(ErrorCause{
          .reason = "FieldValueInvalid",
          .message = "Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
          .field = here});
    }
    check_conditions(out, rule.onPodConditions, here.field("onPodConditions"));
  }
}

void check_success_policy(ErrorList& out, const JobSpec& spec) {
  const FieldPath path("spec.successPolicy.rules");
  const auto& rules = spec.successPolicy->rules;
  if (rules.empty())
    out.push_back(
        required(path, "at least one rules must be specified when the successPolicy is specified"));
  const std::int32_t completions = spec.completions.value_or(0);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const SuccessPolicyRule& rule = rules[i];
    const FieldPath here = path.item(i);
    if (!rule.succeededCount && !rule.succeededIndexes)
      out.push_back(
          required(here, "at least one of succeededCount or succeededIndexes must be specified"));
    std::int32_t named = completions;
    std::string_view what = "the number of specified completions";
    if (rule.succeededIndexes) {
      const auto indexes = IndexSet::parse(*rule.succeededIndexes, completions);
      if (!indexes) {
        out.push_back(invalid(here.field("succeededIndexes"), quoted(*rule.succeededIndexes),
                              "error parsing succeededIndexes: " + indexes.error().message));
        continue;
      }
      named = indexes->size();
      what = "the number of indexes in the specified succeededIndexes field";
    }
    if (!rule.succeededCount) continue;
    must_not_be_negative(out, std::string(here.field("succeededCount")), rule.succeededCount);
    if (*rule.succeededCount > named)
      out.push_back(invalid(here.field("succeededCount"), std::to_string(*rule.succeededCount),
                            fmt::format("must be less than or equal to {} ({})", named, what)));
  }
}

void check_replacement_policy(ErrorList& out, const JobSpec& spec) {
  if (!spec.podReplacementPolicy) return;
  static const Names any{"Failed", "TerminatingOrFailed"}, failed{"Failed"};
  must_be_one_of(out, "spec.podReplacementPolicy", *spec.podReplacementPolicy,
                 spec.podFailurePolicy ? failed : any);
}

// ---- modes ---------------------------------------------------------------------------------

void check_limits_per_index(ErrorList& out, const JobSpec& spec) {
  if (spec.maxFailedIndexes && !spec.backoffLimitPerIndex)
    out.push_back(required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"));
  if (spec.maxFailedIndexes && spec.completions && *spec.maxFailedIndexes > *spec.completions)
    out.push_back(invalid("spec.maxFailedIndexes", std::to_string(*spec.maxFailedIndexes),
                          "must be less than or equal to completions"));
}

void check_mode(ErrorList& out, const JobSpec& spec) {
  static const Names modes{"NonIndexed", "Indexed"};
  const std::string mode = spec.completionMode.value_or("NonIndexed");
  if (mode != "Indexed") {
    if (mode != "NonIndexed")
      out.push_back(not_supported("spec.completionMode", quoted(mode), modes));
    if (spec.backoffLimitPerIndex)
      out.push_back(invalid("spec.backoffLimitPerIndex", std::to_string(*spec.backoffLimitPerIndex),
                            "requires indexed completion mode"));
    if (spec.maxFailedIndexes)
      out.push_back(invalid("spec.maxFailedIndexes", std::to_string(*spec.maxFailedIndexes),
                            "requires indexed completion mode"));
    if (spec.successPolicy)
      out.push_back(invalid("spec.successPolicy", shown_policy(*spec.successPolicy),
                            "requires indexed completion mode"));
    return;
  }
  if (!spec.completions)
    out.push_back(required("spec.completions", "when completion mode is Indexed"));
  if (spec.parallelism && *spec.parallelism > parallelism_max_indexed)
    out.push_back(invalid("spec.parallelism", std::to_string(*spec.parallelism),
                          "must be less than or equal to 100000 when completion mode is Indexed"));
  check_limits_per_index(out, spec);
  if (spec.successPolicy) check_success_policy(out, spec);
}

// ---- template and selector -----------------------------------------------------------------

void check_generated(ErrorList& out, const Job& job) {
  const StringMap& labels = job.spec->template_.metadata.labels;
  const FieldPath path("spec.template.metadata.labels");
  const std::string name = job.metadata.name.str(), uid(job.metadata.uid.view());
  for (const auto& [key, value] :
       {std::pair{legacy_job_name, &name}, std::pair{job_name, &name},
        std::pair{legacy_controller_uid, &uid}, std::pair{controller_uid, &uid}}) {
    const auto found = labels.find(key);
    if (found != labels.end() && found->second != *value)
      out.push_back(invalid(fmt::format("{}[{}]", std::string(path), key.view()),
                            shown_or_null(labels), fmt::format("must be '{}'", *value)));
  }
  const StringMap expected{{controller_uid, uid}};
  if (job.spec->selector && (job.spec->selector->matchLabels != expected ||
                             !job.spec->selector->matchExpressions.empty()))
    out.push_back(invalid("spec.selector", boost::json::serialize(to_json(*job.spec->selector)),
                          "`selector` not auto-generated"));
}

void check_selector(ErrorList& out, const JobSpec& spec) {
  const StringMap& labels = spec.template_.metadata.labels;
  bool matches = false;  // one that is missing selects nothing
  if (!spec.selector) {
    out.push_back(required("spec.selector"));
  } else if (const auto matcher = LabelMatcher::from(*spec.selector); !matcher) {
    out.push_back(invalid("spec.selector", boost::json::serialize(to_json(*spec.selector)),
                          matcher.error().message));
    return;
  } else {
    matches = matcher->matches(labels);
  }
  if (!matches)
    out.push_back(invalid("spec.template.metadata.labels", shown_or_null(labels),
                          "`selector` does not match template `labels`"));
}

void check_template(ErrorList& out, const JobSpec& spec) {
  const PodTemplateSpec& pod = spec.template_;
  append(out, validate_labels(pod.metadata.labels, "spec.template.labels"));
  append(out, validate_annotations(pod.metadata.annotations, "spec.template.annotations"));
  append(out, validate_pod_spec(*pod.spec, "spec.template.spec"));
  const std::string& policy = pod.spec->restartPolicy;
  if (policy == "Always" || policy.empty())
    out.push_back(
        required("spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\""));
  else if (spec.podFailurePolicy && policy != "Never")
    out.push_back(invalid("spec.template.spec.restartPolicy", quoted(policy),
                          "only \"Never\" is supported when podFailurePolicy is specified"));
}

ErrorList validate_spec(const JobSpec& spec) {
  ErrorList out;
  must_not_be_negative(out, "spec.parallelism", spec.parallelism);
  must_not_be_negative(out, "spec.completions", spec.completions);
  must_not_be_negative(out, "spec.activeDeadlineSeconds", spec.activeDeadlineSeconds);
  must_not_be_negative(out, "spec.backoffLimit", spec.backoffLimit);
  must_not_be_negative(out, "spec.ttlSecondsAfterFinished", spec.ttlSecondsAfterFinished);
  must_not_be_negative(out, "spec.backoffLimitPerIndex", spec.backoffLimitPerIndex);
  must_not_be_negative(out, "spec.maxFailedIndexes", spec.maxFailedIndexes);
  if (spec.managedBy) {
    append(out, domain_path_problems("spec.managedBy", *spec.managedBy));
    constexpr std::size_t managed_by_max = 63;
    if (spec.managedBy->size() > managed_by_max)
      out.push_back(too_long("spec.managedBy", managed_by_max));
  }
  check_mode(out, spec);
  if (spec.podFailurePolicy) check_failure_policy(out, spec);
  check_replacement_policy(out, spec);
  check_template(out, spec);
  return out;
}

// ---- updates -------------------------------------------------------------------------------

template <class T>
void must_be_as_before(ErrorList& out, std::string_view field, const T& now, const T& then,
                       std::string_view shown_now) {
  if (!equal(now, then))
    out.push_back(invalid(std::string(field), shown_now, "field is immutable"));
}

std::string number_or_null(const std::optional<std::int32_t>& value) {
  return value ? std::to_string(*value) : "null";
}

// The scheduling directives and the resources: what a suspended Job may change of its template.
PodTemplateSpec with_directives_of(PodTemplateSpec then, const PodTemplateSpec& now) {
  then.metadata.labels = now.metadata.labels;
  then.metadata.annotations = now.metadata.annotations;
  PodSpec& to = then.spec.edit();
  const PodSpec& from = *now.spec;
  to.nodeSelector = from.nodeSelector;
  to.tolerations = from.tolerations;
  to.schedulingGates = from.schedulingGates;
  if (!to.affinity && from.affinity) to.affinity.emplace();
  if (to.affinity) {
    to.affinity.edit().nodeAffinity = from.affinity ? from.affinity->nodeAffinity : std::nullopt;
    if (!from.affinity && !to.affinity->podAffinity && !to.affinity->podAntiAffinity)
      to.affinity.reset();
  }
  for (auto member : {&PodSpec::containers, &PodSpec::initContainers}) {
    auto& containers = (to.*member).edit();
    for (std::size_t i = 0; i < containers.size() && i < (from.*member).size(); ++i)
      if (containers[i].name == (from.*member)[i].name)
        containers[i].resources = (from.*member)[i].resources;
  }
  return then;
}

void check_template_update(ErrorList& out, const Job& now, const Job& then) {
  const PodTemplateSpec &pods = now.spec->template_, &before = then.spec->template_;
  if (equal(pods, before)) return;
  const bool has_run = then.status.startTime.has_value() || then.status.is_true("Suspended");
  const bool is_mutable =
      then.spec->is_suspended() &&
      (!has_run || (then.status.is_true("Suspended") && then.status.active == 0));
  if (!is_mutable)
    out.push_back(invalid("spec.template", "<dump>", "field is immutable"));
  else if (!equal(pods, with_directives_of(before, pods)))
    out.push_back(invalid("spec.template.spec", "<dump>", "field is immutable"));
}

void check_completions_update(ErrorList& out, const JobSpec& now, const JobSpec& then) {
  if (now.completions == then.completions) return;
  const std::string shown_now = number_or_null(now.completions);
  if (!now.is_indexed())
    out.push_back(invalid("spec.completions", shown_now, "field is immutable"));
  else if (now.completions != now.parallelism)
    out.push_back(invalid("spec.completions", shown_now,
                          "can only be modified in tandem with spec.parallelism"));
}

}  // namespace

void default_job(Job& job) {
  JobSpec& spec = job.spec.edit();
  if (!spec.completions && !spec.parallelism) spec.completions = spec.parallelism = 1;
  if (!spec.parallelism) spec.parallelism = 1;
  if (!spec.backoffLimit)
    spec.backoffLimit = spec.backoffLimitPerIndex ? std::numeric_limits<std::int32_t>::max() : 6;
  if (!spec.completionMode) spec.completionMode = "NonIndexed";
  if (!spec.suspend) spec.suspend = false;
  if (!spec.manualSelector) spec.manualSelector = false;
  if (spec.podFailurePolicy)
    for (PodFailurePolicyRule& rule : spec.podFailurePolicy->rules)
      for (OnPodCondition& one : rule.onPodConditions)
        if (one.status.empty()) one.status = "True";
  if (!spec.podReplacementPolicy)
    spec.podReplacementPolicy = spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed";
  default_pod_spec(spec.template_.spec.edit());
  // Of a Job that is being made they come with its selector.
  if (job.metadata.labels.empty() && spec.selector)
    job.metadata.labels = spec.template_.metadata.labels;
}

void generate_selector(Job& job) {
  JobSpec& spec = job.spec.edit();
  if (!spec.manualSelector.value_or(false)) {
    StringMap& labels = spec.template_.metadata.labels.edit();
    // What the author says himself stays, and is refused.
    labels.emplace(legacy_job_name, job.metadata.name);
    labels.emplace(job_name, job.metadata.name);
    labels.emplace(legacy_controller_uid, Text(job.metadata.uid.view()));
    labels.emplace(controller_uid, Text(job.metadata.uid.view()));
    if (!spec.selector) spec.selector.emplace();
    spec.selector->matchLabels.emplace(controller_uid, Text(job.metadata.uid.view()));
  }
  // What is refused for its pods' labels is not refused for its own.
  if (job.metadata.labels.empty() && validate_labels(spec.template_.metadata.labels, "").empty())
    job.metadata.labels = spec.template_.metadata.labels;
}

ErrorList validate_job(const Object& object) {
  const Job& job = static_cast<const Job&>(object);
  ErrorList out;
  if (!job.spec->manualSelector.value_or(false)) check_generated(out, job);
  check_selector(out, *job.spec);
  append(out, validate_spec(*job.spec));
  return out;
}

ErrorList validate_job_spec(const JobSpec& spec) { return validate_spec(spec); }

ErrorList validate_job_status_update(const Object& updated, const Object& old) {
  const Job& now = static_cast<const Job&>(updated);
  const BatchJobStatus &status = now.status, &then = static_cast<const Job&>(old).status;
  ErrorList out;
  const auto check = [&out](const char* field, std::int32_t value) {
    must_not_be_negative(out, field, std::optional(value));
  };
  check("status.active", status.active);
  check("status.succeeded", status.succeeded);
  check("status.failed", status.failed);
  must_not_be_negative(out, "status.ready", status.ready);
  must_not_be_negative(out, "status.terminating", status.terminating);
  if (status.completionTime && !status.is_true("Complete"))
    out.push_back(invalid("status.completionTime", quoted(format_rfc3339(*status.completionTime)),
                          "cannot set completionTime when there is no Complete=True condition"));
  if (status.failed < then.failed)
    out.push_back(invalid("status.failed", std::to_string(status.failed),
                          "cannot decrease the failed counter"));
  if (status.succeeded < then.succeeded && !now.spec->is_indexed())  // these may be scaled
    out.push_back(invalid("status.succeeded", std::to_string(status.succeeded),
                          "cannot decrease the succeeded counter"));
  return out;
}

ErrorList validate_job_update(const Object& updated, const Object& old) {
  const Job &now = static_cast<const Job&>(updated), &then = static_cast<const Job&>(old);
  ErrorList out = validate_job(updated);
  // The API server asks twice: once of the Job, once of its change. The message drops what it says
  // again, the causes do not.
  check_selector(out, *now.spec);
  append(out, validate_spec(*now.spec));
  check_completions_update(out, *now.spec, *then.spec);
  must_be_as_before(
      out, "spec.selector", now.spec->selector, then.spec->selector,
      now.spec->selector ? boost::json::serialize(to_json(*now.spec->selector)) : "null");
  check_template_update(out, now, then);
  must_be_as_before(out, "spec.completionMode", now.spec->completionMode, then.spec->completionMode,
                    quoted(now.spec->completionMode.value_or("")));
  must_be_as_before(
      out, "spec.podFailurePolicy", now.spec->podFailurePolicy, then.spec->podFailurePolicy,
      now.spec->podFailurePolicy ? shown_policy(*now.spec->podFailurePolicy) : "null");
  must_be_as_before(out, "spec.backoffLimitPerIndex", now.spec->backoffLimitPerIndex,
                    then.spec->backoffLimitPerIndex,
                    number_or_null(now.spec->backoffLimitPerIndex));
  must_be_as_before(out, "spec.managedBy", now.spec->managedBy, then.spec->managedBy,
                    now.spec->managedBy ? quoted(*now.spec->managedBy) : "null");
  must_be_as_before(out, "spec.successPolicy", now.spec->successPolicy, then.spec->successPolicy,
                    now.spec->successPolicy ? shown_policy(*now.spec->successPolicy) : "null");
  return out;
}

}  // namespace ddptwin
