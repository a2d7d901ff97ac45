#include "controller/jobset/failure_policy.hpp"

#include <algorithm>
#include <array>

#include "controller/jobset/names.hpp"
#include "controller/jobset/rules.hpp"
#include "core/regular_expression.hpp"

namespace ddptwin::controller::jobset {
namespace {

using Does = ActionRow::Does;

constexpr std::array actions{
    ActionRow{"FailJobSet", &rules::fail_by_policy, Does::fail, false,
              "FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action"},
    ActionRow{"RestartJobSet", &rules::restart_all, Does::restart_all, true,
              "RestartJobSetFailurePolicyAction", "applying RestartJobSet failure policy action"},
    ActionRow{"RestartJobSetAndIgnoreMaxRestarts", &rules::restart_all_uncounted, Does::restart_all,
              false, "RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction",
              "applying RestartJobSetAndIgnoreMaxRestarts failure policy action"},
    ActionRow{"RestartJob", &rules::restart_job, Does::restart_job, true,
              "RestartJobFailurePolicyAction", "applying RestartJob failure policy action"},
    ActionRow{"RestartJobAndIgnoreMaxRestarts", &rules::restart_job_uncounted, Does::restart_job,
              false, "RestartJobAndIgnoreMaxRestartsFailurePolicyAction",
              "applying RestartJobAndIgnoreMaxRestarts failure policy action"},
};

bool is_in(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Anywhere in it. A pattern that is none matches nothing.
bool some_pattern_matches(const std::vector<std::string>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(), [&text](const std::string& pattern) {
    const auto expression = regular_expression(pattern);
    return expression && std::regex_search(text, *expression);
  });
}

bool is_about(const JobSetFailureRule& rule, const Job& job, const BatchJobCondition& failure,
              const Profile& profile) {
  if (!rule.onJobFailureReasons.empty() && !is_in(rule.onJobFailureReasons, failure.reason))
    return false;
  if (profile.message_patterns && !rule.onJobFailureMessagePatterns.empty() &&
      !some_pattern_matches(rule.onJobFailureMessagePatterns, failure.message))
    return false;
  const Text* of = job.metadata.label(keys::replicated_job);
  if (of == nullptr || of->empty()) return false;
  return rule.targetReplicatedJobs.empty() || is_in(rule.targetReplicatedJobs, of->view());
}

}  // namespace

const ActionRow* action_named(std::string_view name) {
  for (const ActionRow& row : actions)
    if (row.name == name) return &row;
  return nullptr;
}

JobPtr first_failed(const std::vector<JobPtr>& failed) {
  JobPtr first;
  OptionalTime since;
  for (const JobPtr& job : failed) {
    const BatchJobCondition* failure = job->status.condition("Failed");
    if (failure == nullptr || (first != nullptr && !(failure->lastTransitionTime < since)))
      continue;
    first = job;
    since = failure->lastTransitionTime;
  }
  return first;
}

Answer answer_to(const JobSetFailurePolicy& policy, const std::vector<JobPtr>& failed,
                 const Profile& profile) {
  for (const JobSetFailureRule& rule : policy.rules) {
    std::vector<JobPtr> concerned;
    for (const JobPtr& job : failed)
      if (is_about(rule, *job, *job->status.condition("Failed"), profile)) concerned.push_back(job);
    if (!concerned.empty()) return {first_failed(concerned), &rule};
  }
  return {first_failed(failed), nullptr};
}

}  // namespace ddptwin::controller::jobset
