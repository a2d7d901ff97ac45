#include "controller/jobset/conditions.hpp"

namespace ddptwin::controller::jobset {
namespace {

bool exclude_each_other(std::string_view a, std::string_view b) {
  constexpr std::string_view running = "StartupPolicyInProgress", done = "StartupPolicyCompleted";
  return (a == running && b == done) || (a == done && b == running);
}

}  // namespace

bool set_condition(JobSetStatus& status, JobSetCondition condition, Time now) {
  condition.lastTransitionTime = now.floor_seconds();
  const bool holds = condition.status == "True";
  bool changed = false, found = false;
  for (JobSetCondition& one : status.conditions) {
    if (one.type_ != condition.type_) {
      if (!holds || one.status != "True" || !exclude_each_other(one.type_, condition.type_))
        continue;
      one.status = "False";
      changed = true;
      continue;
    }
    found = true;
    if (one.status == condition.status) {
      if (one.reason == condition.reason && one.message == condition.message) continue;
      condition.lastTransitionTime = one.lastTransitionTime;
    }
    one = condition;
    changed = true;
  }
  if (found || !holds) return changed;
  status.conditions.push_back(std::move(condition));
  return true;
}

}  // namespace ddptwin::controller::jobset
