#include "controller/pytorchjob/conditions.hpp"

#include <algorithm>

#include "objects/codec.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

// Running and Restarting push each other out (§5.1.4).
bool gives_way(std::string_view old, std::string_view next) {
  return old == next || (old == condition::running && next == condition::restarting) ||
         (old == condition::restarting && next == condition::running);
}

}  // namespace

bool is_finished(const JobStatus& status) {
  return status.is_true(condition::succeeded) || status.is_true(condition::failed);
}

bool set_condition(JobStatus& status, NewCondition next, Time now) {
  if (status.is_true(condition::failed)) return false;
  const std::string_view value = next.status ? "True" : "False";
  const JobCondition* old = status.condition(next.type);
  if (old != nullptr && old->status == value && old->reason == next.reason) return false;
  JobCondition entry{.type_ = std::string(next.type),
                     .status = std::string(value),
                     .reason = std::string(next.reason),
                     .message = std::move(next.message),
                     .lastUpdateTime = now,
                     .lastTransitionTime = now};
  if (old != nullptr && old->status == value) entry.lastTransitionTime = old->lastTransitionTime;
  std::erase_if(status.conditions,
                [&](const JobCondition& c) { return gives_way(c.type_, next.type); });
  if (next.type == condition::failed || next.type == condition::succeeded)
    for (JobCondition& c : status.conditions)
      if (c.type_ == condition::running) c.status = "False";
  status.conditions.push_back(std::move(entry));
  return true;
}

bool same(const JobStatus& a, const JobStatus& b) {
  const auto exactly = [](const JobCondition& x, const JobCondition& y) {
    return x.lastUpdateTime == y.lastUpdateTime && x.lastTransitionTime == y.lastTransitionTime;
  };
  return equal(a, b) && a.startTime == b.startTime && a.completionTime == b.completionTime &&
         a.lastReconcileTime == b.lastReconcileTime &&
         std::equal(a.conditions.begin(), a.conditions.end(), b.conditions.begin(), exactly);
}

}  // namespace ddptwin::controller::pytorchjob
