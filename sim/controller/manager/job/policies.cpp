#include "controller/manager/job/policies.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddptwin::controller::job {
namespace {

// The container whose exit code the rule is about; null: none.
const ContainerStatus* match_exit_codes(const OnExitCodes& rule, const Pod& pod) {
  for (const auto* statuses : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (const ContainerStatus& status : *statuses) {
      if (rule.containerName && *rule.containerName != status.name) continue;
      if (!status.state.terminated || status.state.terminated->exitCode == 0) continue;
      const bool listed = std::find(rule.values.begin(), rule.values.end(),
                                    status.state.terminated->exitCode) != rule.values.end();
      if (listed == (rule.operator_ == "In")) return &status;
    }
  return nullptr;
}

const PodCondition* match_conditions(const std::vector<OnPodCondition>& rule, const Pod& pod) {
  for (const PodCondition& one : pod.status.conditions)
    for (const OnPodCondition& pattern : rule)
      if (one.type_ == pattern.type_ && one.status == pattern.status) return &one;
  return nullptr;
}

}  // namespace

PolicyMatch match_failure_policy(const JobSpec& job, const Pod& pod) {
  if (!job.podFailurePolicy) return {};
  const auto& rules = job.podFailurePolicy->rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const PodFailurePolicyRule& rule = rules[i];
    const std::string_view space = pod.metadata.namespace_, name = pod.metadata.name;
    if (rule.onExitCodes) {
      const ContainerStatus* container = match_exit_codes(*rule.onExitCodes, pod);
      if (container == nullptr) continue;
      return {
          rule.action,
          fmt::format(
              "Container {} for pod {}/{} failed with exit code {} matching {} rule at index {}",
              container->name.view(), space, name, container->state.terminated->exitCode,
              rule.action, i)};
    }
    const PodCondition* condition = match_conditions(rule.onPodConditions, pod);
    if (condition == nullptr) continue;
    return {rule.action, fmt::format("Pod {}/{} has condition {} matching {} rule at index {}",
                                     space, name, condition->type_.view(), rule.action, i)};
  }
  return {};
}

std::optional<std::string> match_success_policy(const JobSpec& job, const IndexSet& succeeded) {
  if (!job.successPolicy || succeeded.size() == 0) return std::nullopt;
  const auto& rules = job.successPolicy->rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const SuccessPolicyRule& rule = rules[i];
    int done = succeeded.size(), wanted = rule.succeededCount.value_or(0);
    if (rule.succeededIndexes) {
      const IndexSet named = IndexSet::read(*rule.succeededIndexes, job.completions.value_or(0));
      if (named.size() == 0) continue;  // of no index none can succeed
      done = 0;
      for (const auto& [first, last] : named.intervals())
        for (int index = first; index <= last; ++index)
          if (succeeded.has(index)) ++done;
      wanted = rule.succeededCount.value_or(named.size());
    }
    if (done >= wanted) return fmt::format("Matched rules at index {}", i);
  }
  return std::nullopt;
}

BackOffRecord BackOffRecord::after(std::vector<Time> succeeded, std::vector<Time> failed) const {
  std::sort(failed.begin(), failed.end());
  BackOffRecord next = *this;
  if (succeeded.empty()) {
    next.failures += static_cast<int>(failed.size());
    if (!failed.empty()) next.last_failure = failed.back();
    return next;
  }
  next = {};
  const Time success = *std::max_element(succeeded.begin(), succeeded.end());
  for (const Time failure : failed) {
    if (failure <= success) continue;  // of two at one instant the success comes last
    ++next.failures;
    next.last_failure = failure;
  }
  return next;
}

Duration back_off_left(int failures, Time last_failure, Time now) {
  if (failures <= 0) return Duration::zero();
  Duration delay = back_off_base;
  for (int i = 1; i < failures && delay < back_off_max; ++i) delay *= 2;
  return std::max(Duration::zero(), last_failure + std::min(delay, back_off_max) - now);
}

Duration BackOffRecord::remaining(Time now) const {
  return last_failure ? back_off_left(failures, *last_failure, now) : Duration::zero();
}

}  // namespace ddptwin::controller::job
