#include "controller/jobset/webhook.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <limits>
#include <map>
#include <set>

#include "controller/jobset/names.hpp"
#include "controller/toolkit/denial.hpp"
#include "core/regular_expression.hpp"
#include "objects/codec.hpp"
#include "objects/validation.hpp"

namespace ddptwin::controller::jobset {
namespace {

namespace json = boost::json;

constexpr std::size_t managed_by_max = 63;
constexpr std::size_t claim_name_max = 63;
constexpr std::size_t rule_name_max = 128;
constexpr std::int32_t restartable_replicas_max = 1024;
constexpr std::string_view too_long_for_a_label = "must be no more than 63 characters";
constexpr std::array<std::string_view, 5> failure_reasons{
    "BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded",
    "PodFailurePolicy"};

// ---- defaults ----------------------------------------------------------------------------------

void set_defaults(JobSetSpec& spec) {
  if (!spec.successPolicy) spec.successPolicy = JobSetSuccessPolicy{.operator_ = "All"};
  if (!spec.startupPolicy)
    spec.startupPolicy = JobSetStartupPolicy{.startupPolicyOrder = "AnyOrder"};
  for (ReplicatedJob& one : spec.replicatedJobs) {
    JobSpec& job = one.template_.spec.edit();
    if (!job.completionMode) job.completionMode = "Indexed";
    if (job.template_.spec->restartPolicy.empty())
      job.template_.spec.edit().restartPolicy = "OnFailure";
  }
  if (!spec.network) spec.network.emplace();
  if (!spec.network->enableDNSHostnames) spec.network->enableDNSHostnames = true;
  if (!spec.network->publishNotReadyAddresses) spec.network->publishNotReadyAddresses = true;
  if (spec.failurePolicy) {
    std::size_t index = 0;
    for (JobSetFailureRule& rule : spec.failurePolicy->rules) {
      if (rule.name.empty()) rule.name = fmt::format("failurePolicyRule{}", index);
      ++index;
    }
  }
  for (JobSetClaimPolicy& policy : spec.volumeClaimPolicies)
    if (!policy.retentionPolicy)
      policy.retentionPolicy = JobSetClaimRetention{.whenDeleted = "Delete"};
}

// The webhook answers with what differs, without what its encoder leaves out: that stays as it was
// sent.
void lay_over(Json& below, Json above) {
  if (below.is_object() && above.is_object()) {
    for (auto& member : above.get_object()) {
      Json* there = below.get_object().if_contains(member.key());
      if (there != nullptr)
        lay_over(*there, std::move(member.value()));
      else
        below.get_object().emplace(member.key(), std::move(member.value()));
    }
    return;
  }
  const bool are_alike =
      below.is_array() && above.is_array() && below.get_array().size() == above.get_array().size();
  if (!are_alike) {
    below = std::move(above);
    return;
  }
  for (std::size_t i = 0; i < below.get_array().size(); ++i)
    lay_over(below.get_array()[i], std::move(above.get_array()[i]));
}

// ---- refusals ----------------------------------------------------------------------------------

// A check that names no field.
ErrorCause plain(std::string text) {
  return {"InternalError", "Internal error: " + std::move(text), "<nil>"};
}

// As an error of Go says it where there is no list of causes.
std::string told_of(const ErrorCause& cause) {
  constexpr std::string_view internal = "Internal error: ";
  return cause.reason == "InternalError" ? cause.message.substr(internal.size())
                                         : cause.field + ": " + cause.message;
}

std::optional<Error> refusal_of(const JobSet& set, ErrorList causes, const Profile& profile,
                                std::string_view between) {
  if (causes.empty()) return std::nullopt;
  const auto denied = [](std::string_view why) { return denied_by(validator_name, why); };
  if (!profile.refuses_as_invalid) {
    std::vector<std::string> texts;
    for (const ErrorCause& cause : causes) texts.push_back(told_of(cause));
    return Error{.reason = Reason::forbidden,
                 .message = denied(fmt::format("{}", fmt::join(texts, between)))};
  }
  auto details = std::make_shared<ErrorDetails>();
  details->name = set.metadata.name.str();
  details->group = JobSet::info().group;
  details->kind = JobSet::info().kind;
  std::string text = fmt::format("JobSet.jobset.x-k8s.io \"{}\" is invalid: {}",
                                 set.metadata.name.view(), summary_of(causes));
  details->causes = std::move(causes);
  return Error{.reason = Reason::invalid, .message = denied(text), .details = std::move(details)};
}

// A name of 63 letters at most, with a sentence of ours where it is longer.
void judge_label(const std::string& name, const std::string& field, std::string_view shown_name,
                 std::string_view too_long, ErrorList& errors) {
  for (const std::string& problem : dns_1035_label_problems(name)) {
    const bool is_long = problem.find(too_long_for_a_label) != std::string::npos;
    errors.push_back(
        invalid(field, quoted(shown_name), is_long ? too_long : std::string_view(problem)));
  }
}

class Review {
 public:
  Review(const JobSet& set, const Profile& profile, const FindClaim& find)
      : set_(set), spec_(*set.spec), profile_(profile), find_(find) {}

  ErrorList run() {
    judge_gates();
    if (!spec_.replicatedJobs.empty() && spec_.replicatedJobs.front().dependsOn)
      errors_.push_back(plain("DependsOn can't be set for the first ReplicatedJob"));
    judge_subdomain();
    judge_managed_by();
    for (std::size_t i = 0; i < spec_.replicatedJobs.size(); ++i) judge_replicated_job(i);
    if (spec_.successPolicy)
      for (const std::string& name : spec_.successPolicy->targetReplicatedJobs)
        if (!names_.contains(name))
          errors_.push_back(plain(fmt::format(
              "invalid replicatedJob name '{}' does not appear in .spec.ReplicatedJobs", name)));
    if (spec_.failurePolicy) judge_failure_policy(*spec_.failurePolicy);
    if (spec_.coordinator) judge_coordinator(*spec_.coordinator);
    judge_claims();
    return std::move(errors_);
  }

 private:
  void judge_gates() {
    if (spec_.failurePolicy && spec_.failurePolicy->restartStrategy == "InPlaceRestart")
      errors_.push_back(
          plain("InPlaceRestart restart strategy cannot be set when InPlaceRestart "
                "feature gate is disabled"));
  }

  void judge_subdomain() {
    if (!spec_.network || spec_.network->subdomain.empty()) return;
    const std::string& name = spec_.network->subdomain;
    for (const std::string& problem : dns_subdomain_problems(name))
      errors_.push_back(invalid("spec.network.subdomain", quoted(name), problem));
    judge_label(name, "spec.network.subdomain", name,
                ".spec.network.subdomain is too long, must be less than 63 characters", errors_);
  }

  void judge_managed_by() {
    if (!spec_.managedBy) return;
    const std::string& name = *spec_.managedBy;
    append(errors_, domain_path_problems("spec.managedBy", name));
    if (name.size() > managed_by_max) errors_.push_back(too_long("spec.managedBy", managed_by_max));
  }

  void judge_replicated_job(std::size_t index) {
    const ReplicatedJob& one = spec_.replicatedJobs[index];
    const std::string field = fmt::format("spec.replicatedJobs[{}]", index);
    names_.insert(one.name);
    const JobSpec& job = *one.template_.spec;
    const std::int64_t pods = std::int64_t{job.parallelism.value_or(1)} * one.replicas;
    if (pods > std::numeric_limits<std::int32_t>::max())
      errors_.push_back(
          plain(fmt::format("the product of replicas and parallelism must not exceed {} for "
                            "replicatedJob '{}'",
                            std::numeric_limits<std::int32_t>::max(), one.name)));
    if (profile_.groups)
      judge_label(one.groupName, field + ".groupName", one.groupName,
                  ".spec.replicatedJob[].groupName is too long, must be less than 63 characters",
                  errors_);
    judge_generated_names(one, field + ".name");
    for (const JobSetDependency& dependency :
         one.dependsOn.value_or(std::vector<JobSetDependency>()))
      if (!names_.contains(dependency.name))
        errors_.push_back(plain(fmt::format("replicatedJob: {} cannot depend on replicatedJob: {}",
                                            one.name, dependency.name)));
  }

  // Of the last Job and of its last pod, which have the longest ones.
  void judge_generated_names(const ReplicatedJob& one, const std::string& field) {
    const std::string job =
        job_name(set_.metadata.name.view(), one.name, std::int64_t{one.replicas} - 1);
    judge_label(job, field, job,
                "JobSet name is too long, job names generated for this JobSet will exceed 63 "
                "characters",
                errors_);
    const JobSpec& spec = *one.template_.spec;
    if (spec.completionMode != "Indexed" || !spec.completions) return;
    judge_label(fmt::format("{}-{}-abcde", job, std::int64_t{*spec.completions} - 1), field, job,
                "JobSet name is too long, pod names generated for this JobSet will exceed 63 "
                "characters",
                errors_);
  }

  void judge_failure_policy(const JobSetFailurePolicy& policy) {
    const bool single =
        std::any_of(policy.rules.begin(), policy.rules.end(), [](const JobSetFailureRule& rule) {
          return rule.action == "RestartJob" || rule.action == "RestartJobAndIgnoreMaxRestarts";
        });
    if (single && !profile_.restart_job)
      return errors_.push_back(
          plain("RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not "
                "allowed when RestartJob feature gate is disabled"));
    if (single && std::any_of(spec_.replicatedJobs.begin(), spec_.replicatedJobs.end(),
                              [](const ReplicatedJob& one) {
                                return one.replicas > restartable_replicas_max;
                              }))
      errors_.push_back(plain(fmt::format(
          "JobSet cannot have a failure policy rule with RestartJob or "
          "RestartJobAndIgnoreMaxRestarts action and a replicated job with replicas > {}",
          restartable_replicas_max)));
    std::map<std::string, std::vector<std::size_t>> indices;
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
      judge_rule(policy.rules[i]);
      indices[policy.rules[i].name].push_back(i);
    }
    for (const auto& [name, all] : indices)
      if (all.size() > 1)
        errors_.push_back(plain(
            fmt::format("rule names are not unique, rules with indices [{}] all have the same "
                        "name '{}'",
                        fmt::join(all, " "), name)));
  }

  // ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$
  static bool is_rule_name(std::string_view name) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto may_end = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && is_letter(name.front()) && may_end(name.back()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return may_end(c) || c == ',' || c == ':'; });
  }

  void judge_rule(const JobSetFailureRule& rule) {
    if (rule.name.empty() || rule.name.size() > rule_name_max)
      errors_.push_back(plain(
          fmt::format("invalid failure policy rule name of length {}, the rule name must be at "
                      "least 1 characters long and at most {} characters long",
                      rule.name.size(), rule_name_max)));
    if (!is_rule_name(rule.name))
      errors_.push_back(plain(fmt::format(
          "invalid failure policy rule name '{}', a failure policy rule name must start with an "
          "alphabetic character, optionally followed by a string of alphanumeric characters or "
          "'_,:', and must end with an alphanumeric character or '_'",
          rule.name)));
    for (const std::string& name : rule.targetReplicatedJobs)
      if (!names_.contains(name))
        errors_.push_back(
            plain(fmt::format("invalid replicatedJob name '{}' in failure policy does not appear "
                              "in .spec.ReplicatedJobs",
                              name)));
    for (const std::string& reason : rule.onJobFailureReasons)
      if (std::find(failure_reasons.begin(), failure_reasons.end(), reason) ==
          failure_reasons.end())
        errors_.push_back(
            plain(fmt::format("invalid job failure reason '{}' in failure policy is not a "
                              "recognized job failure reason",
                              reason)));
  }

  std::optional<std::string> wrong_coordinator(const JobSetCoordinator& one) const {
    const ReplicatedJob* of = replicated_job_named(spec_, one.replicatedJob);
    if (of == nullptr)
      return fmt::format("coordinator replicatedJob {} does not exist", one.replicatedJob);
    if (one.jobIndex < 0 || one.jobIndex >= of->replicas)
      return fmt::format("coordinator job index {} is invalid for replicatedJob {}", one.jobIndex,
                         of->name);
    const JobSpec& job = *of->template_.spec;
    if (job.completionMode != "Indexed" || !job.completions)
      return "job for coordinator pod must be indexed completion mode, and completions number "
             "must be set";
    if (one.podIndex < 0 || one.podIndex >= *job.completions)
      return fmt::format("coordinator pod index {} is invalid for replicatedJob {} job index {}",
                         one.podIndex, one.replicatedJob, one.jobIndex);
    return std::nullopt;
  }

  void judge_coordinator(const JobSetCoordinator& one) {
    if (auto wrong = wrong_coordinator(one)) errors_.push_back(plain(*std::move(wrong)));
    const std::string endpoint = coordinator_of(set_);
    if (const auto problems = label_value_problems(endpoint); !problems.empty())
      errors_.push_back(plain(
          fmt::format("spec will lead to invalid label value {} for coordinator label {} (long "
                      "JobSet / ReplicatedJob / SubDomain name?): {}",
                      quoted(endpoint), quoted(keys::coordinator), fmt::join(problems, ", "))));
  }

  void judge_claims() {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < spec_.volumeClaimPolicies.size(); ++i) {
      const JobSetClaimPolicy& policy = spec_.volumeClaimPolicies[i];
      const std::string field = fmt::format("spec.volumeClaimPolicies[{}]", i);
      for (std::size_t j = 0; j < policy.templates.size(); ++j)
        judge_claim(policy, policy.templates[j], field, j, seen);
    }
  }

  void judge_claim(const JobSetClaimPolicy& policy, const ClaimTemplate& one,
                   const std::string& policy_field, std::size_t index,
                   std::set<std::string>& seen) {
    const std::string name = one.metadata.name.str();
    const std::string field = fmt::format("{}.template[{}]", policy_field, index);
    const auto wrong_name = [&](std::string_view why) {
      errors_.push_back(invalid(field + ".name", quoted(name), why));
    };
    if (!seen.insert(name).second)
      wrong_name("names must be unique for VolumeClaimPolicies template");
    for (const std::string& problem : dns_subdomain_problems(name)) wrong_name(problem);
    const std::string claim = claim_name(set_, name);
    if (claim.size() > claim_name_max) wrong_name("VolumeClaimPolicies template name is too long");
    judge_mounts(name);
    const auto there = find_ ? find_(claim) : nullptr;
    if (there == nullptr) return;
    if (!equal(there->spec, one.spec))
      errors_.push_back(invalid(field + ".spec", json::serialize(to_json(one.spec)),
                                fmt::format("spec does not match existing PVC {} in namespace {}",
                                            claim, set_.metadata.namespace_.view())));
    if (policy.retentionPolicy && policy.retentionPolicy->whenDeleted != "Retain")
      errors_.push_back(invalid(policy_field + ".retentionPolicy.whenDeleted",
                                quoted(policy.retentionPolicy->whenDeleted.value_or("")),
                                "retentionPolicy must be retain when PVC exists"));
  }

  void judge_mounts(const std::string& name) {
    const auto mounts = [&name](const std::vector<Container>& containers) {
      return std::any_of(containers.begin(), containers.end(), [&name](const Container& one) {
        return std::any_of(one.volumeMounts.begin(), one.volumeMounts.end(),
                           [&name](const VolumeMount& mount) { return mount.name == name; });
      });
    };
    bool mounted = false;
    for (std::size_t i = 0; i < spec_.replicatedJobs.size(); ++i) {
      const PodSpec& pod = *spec_.replicatedJobs[i].template_.spec->template_.spec;
      for (std::size_t j = 0; j < pod.volumes.size(); ++j)
        if (pod.volumes[j].name == name)
          errors_.push_back(invalid(
              fmt::format("spec.replicatedJobs[{}].template.spec.template.spec.volumes[{}].name", i,
                          j),
              quoted(name), "volume name conflicts with VolumeClaimPolicy template name: " + name));
      mounted = mounted || mounts(pod.initContainers) || mounts(pod.containers);
    }
    if (!mounted)
      errors_.push_back(
          invalid("spec.replicatedJobs", json::serialize(to_json(spec_.replicatedJobs)),
                  fmt::format("replicatedJob containers don't have a matching volumeMount: {} from "
                              "VolumeClaimPolicies",
                              name)));
  }

  const JobSet& set_;
  const JobSetSpec& spec_;
  const Profile& profile_;
  const FindClaim& find_;
  std::set<std::string, std::less<>> names_{};  // of replicated jobs so far
  ErrorList errors_{};
};

// ---- changes -----------------------------------------------------------------------------------

const ReplicatedJob* before_of(const JobSet& old, const ReplicatedJob& one) {
  return replicated_job_named(*old.spec, one.name);
}

// ElasticJobSet: parallelism and completions of an Indexed Job may change together.
void judge_scaling(const ReplicatedJob& one, const ReplicatedJob& before, bool ended,
                   const std::string& field, ErrorList& errors) {
  const JobSpec &now = *one.template_.spec, &was = *before.template_.spec;
  const bool at_once = now.parallelism != was.parallelism,
             in_all = now.completions != was.completions;
  if (!at_once && !in_all) return;
  if (ended)
    return errors.push_back(forbidden(field,
                                      "Cannot mutate parallelism or completions when JobSet is in "
                                      "a terminal state (Completed or Failed)"));
  if (at_once && now.parallelism && *now.parallelism < 1)
    errors.push_back(invalid(field + ".parallelism", std::to_string(*now.parallelism),
                             "parallelism must be >= 1"));
  if (in_all && now.completions && *now.completions < 1)
    errors.push_back(invalid(field + ".completions", std::to_string(*now.completions),
                             "completions must be >= 1"));
  if (now.parallelism && now.completions && *now.parallelism != *now.completions)
    errors.push_back(invalid(field + ".completions", std::to_string(*now.completions),
                             "completions must be equal to parallelism for Elastic Indexed Jobs"));
}

// What Kueue changes while a set is suspended.
void keep_template(PodTemplateSpec& now, const PodTemplateSpec& was) {
  now.metadata.labels = was.metadata.labels;
  now.metadata.annotations = was.metadata.annotations;
  PodSpec& pod = now.spec.edit();
  pod.nodeSelector = was.spec->nodeSelector;
  pod.tolerations = was.spec->tolerations;
  pod.schedulingGates = was.spec->schedulingGates;
}

}  // namespace

void fill_in(JobSet& set) {
  const Json* sent = set.spec.source().get();
  Json source = sent != nullptr ? *sent : Json(json::object());
  JobSetSpec& spec = set.spec.edit();
  set_defaults(spec);
  lay_over(source, to_json(spec));
  set.spec.set_source(RawJson(std::move(source)));
}

std::optional<Error> review_new(const JobSet& set, const Profile& profile, const FindClaim& find) {
  return refusal_of(set, Review(set, profile, find).run(), profile, "\n");
}

std::optional<Error> review_change(const JobSet& set, const JobSet& old, const Profile& profile) {
  ErrorList errors;
  std::vector<ReplicatedJob> now = set.spec->replicatedJobs;
  const bool suspended = set.spec->is_suspended() || old.spec->is_suspended();
  const bool ended = old.status && old.status->is_finished();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const ReplicatedJob* before = before_of(old, now[i]);
    if (before == nullptr) continue;
    if (profile.elastic && now[i].template_.spec->completionMode == "Indexed") {
      judge_scaling(now[i], *before, ended, fmt::format("spec.replicatedJobs[{}].template.spec", i),
                    errors);
      JobSpec& job = now[i].template_.spec.edit();
      job.parallelism = before->template_.spec->parallelism;
      job.completions = before->template_.spec->completions;
    }
    if (suspended)
      keep_template(now[i].template_.spec.edit().template_, before->template_.spec->template_);
  }
  if (!equal(now, old.spec->replicatedJobs))
    errors.push_back(
        invalid("spec.replicatedJobs", json::serialize(to_json(now)), "field is immutable"));
  if (set.spec->managedBy != old.spec->managedBy)
    errors.push_back(invalid("spec.managedBy",
                             set.spec->managedBy ? quoted(*set.spec->managedBy) : "null",
                             "field is immutable"));
  if (errors.empty()) return std::nullopt;
  if (profile.refuses_as_invalid) return refusal_of(set, std::move(errors), profile, {});
  return Error{.reason = Reason::forbidden,
               .message = denied_by(validator_name, summary_of(errors))};
}

}  // namespace ddptwin::controller::jobset
