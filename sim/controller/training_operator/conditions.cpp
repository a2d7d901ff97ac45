#include "controller/training_operator/conditions.hpp"

#include <algorithm>
#include <tuple>

namespace ddptwin::controller::pytorchjob {
namespace {

std::string_view text_of(bool value) { return value ? "True" : "False"; }

// Running and Restarting push each other out (§5.1.4).
bool gives_way(std::string_view old, std::string_view next) {
  return old == next || (old == condition::running && next == condition::restarting) ||
         (old == condition::restarting && next == condition::running);
}

// All members: one that is added does not compile until it is compared.
auto all_of(const JobCondition& condition) {
  const auto& [type, status, reason, message, updated, changed] = condition;
  return std::tie(type, status, reason, message, updated, changed);
}
bool same(const ReplicaStatus& a, const ReplicaStatus& b) {
  const auto& [active, succeeded, failed, labels, selector] = a;
  return active == b.active && succeeded == b.succeeded && failed == b.failed &&
         labels == b.labelSelector && (selector.same_as(b.selector) || *selector == *b.selector);
}

}  // namespace

bool is_finished(const JobStatus& status) {
  return status.is_true(condition::succeeded) || status.is_true(condition::failed);
}

bool is_so(const JobStatus& status, std::string_view type, bool value, std::string_view reason) {
  const JobCondition* one = status.condition(type);
  return one != nullptr && one->status == text_of(value) && one->reason == reason;
}

bool set_condition(JobStatus& status, NewCondition next, Time now) {
  if (status.is_true(condition::failed) || is_so(status, next.type, next.status, next.reason))
    return false;
  const std::string_view value = text_of(next.status);
  const JobCondition* old = status.condition(next.type);
  JobCondition entry{.type_ = std::string(next.type),
                     .status = std::string(value),
                     .reason = std::string(next.reason),
                     .message = std::move(next.message),
                     .lastUpdateTime = now,
                     .lastTransitionTime = now};
  if (old != nullptr && old->status == value) entry.lastTransitionTime = old->lastTransitionTime;
  std::vector<JobCondition>& conditions = status.conditions.edit();
  std::erase_if(conditions, [&](const JobCondition& c) { return gives_way(c.type_, next.type); });
  if (next.type == condition::failed || next.type == condition::succeeded)
    for (JobCondition& c : conditions)
      if (c.type_ == condition::running) c.status = "False";
  conditions.push_back(std::move(entry));
  return true;
}

bool same(const JobStatus& a, const JobStatus& b) {
  const auto condition = [](const JobCondition& x, const JobCondition& y) {
    return all_of(x) == all_of(y);
  };
  const auto counters = [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  };
  const auto& [conditions, replicas, started, completed, reconciled] = a;
  return started == b.startTime && completed == b.completionTime &&
         reconciled == b.lastReconcileTime &&
         (conditions.same_as(b.conditions) ||
          std::equal(conditions.begin(), conditions.end(), b.conditions.begin(), b.conditions.end(),
                     condition)) &&
         replicas.has_value() == b.replicaStatuses.has_value() &&
         (!replicas || std::equal(replicas->begin(), replicas->end(), b.replicaStatuses->begin(),
                                  b.replicaStatuses->end(), counters));
}

}  // namespace ddptwin::controller::pytorchjob
