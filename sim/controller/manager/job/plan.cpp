#include "controller/manager/job/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "controller/manager/job/pass.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/codec.hpp"
#include "objects/selector.hpp"

namespace ddptwin::controller::job {
namespace {

constexpr std::string_view this_controller = "kubernetes.io/job-controller";

}  // namespace

// ---- what there is -------------------------------------------------------------------------

void Pass::observe() {
  Claimed claimed =
      claim(seen_.pods, {.owner = job_,
                         .matches = [this](const Object& o) { return is_selected(job_, o); },
                         .adopt = &rules::adopt_pod,
                         .release = &rules::release_pod,
                         .finalizer = job_tracking_finalizer});
  for (Step& step : claimed.steps) made_.plan.steps.push_back(std::move(step));
  for (const ObjectPtr& object : claimed.own) pods_.push_back(as<Pod>(object));
  for (const PodPtr& pod : pods_) {
    if (is_active(*pod)) {
      active_.push_back(pod);
      if (is_ready(*pod)) ++ready_;
    }
    if (is_ending(*pod)) ++terminating_;
  }
  active_count_ = static_cast<int>(active_.size());
}

// Pods that ended since the counts were written.
void Pass::find_new_ends() {
  const UncountedTerminatedPods& uncounted = *status_.uncountedTerminatedPods;
  std::vector<Time> successes, failures;
  std::int64_t counted_failures = 0;
  for (const PodPtr& pod : pods_) {
    const std::string_view uid = pod->metadata.uid.view();
    if (is_processed(*pod) || (spec_.is_indexed() && !valid_index(*pod, spec_))) continue;
    if (pod->status.phase == "Succeeded" && !has(uncounted.succeeded, uid)) {
      successes.push_back(finish_time(*pod));
    } else if (has_failed(*pod, spec_) && !has(uncounted.failed, uid)) {
      failures.push_back(finish_time(*pod));
      new_failed_.push_back(pod);
      if (match_failure_policy(spec_, *pod).counts()) ++counted_failures;
    }
  }
  succeeded_ = status_.succeeded + static_cast<std::int64_t>(successes.size()) +
               static_cast<std::int64_t>(uncounted.succeeded.size());
  failed_ = status_.failed + counted_failures + static_cast<std::int64_t>(uncounted.failed.size());
  back_off_ = seen_.back_off.after(std::move(successes), std::move(failures));
  made_.back_off = back_off_;
  if (!spec_.is_indexed()) return;
  const int completions = spec_.completions.value_or(0);
  succeeded_before_ = IndexSet::read(status_.completedIndexes, completions);
  succeeded_indexes_ = succeeded_before_;
  for (const PodPtr& pod : pods_)
    if (pod->status.phase == "Succeeded" && is_tracked(*pod))
      if (const auto index = valid_index(*pod, spec_)) succeeded_indexes_.add(*index);
  succeeded_ = succeeded_indexes_.size();
}

// Failed pods keep their finalizer until others stand for their indexes, unless these have failed
// for good.
void Pass::delay_replacements() {
  const int completions = spec_.completions.value_or(0);
  failed_indexes_ = IndexSet::read(status_.failedIndexes.value_or(""), completions);
  std::map<int, PodPtr> latest;
  for (const PodPtr& pod : pods_) {
    const auto index = valid_index(*pod, spec_);
    if (!index || !has_failed(*pod, spec_) || !is_tracked(*pod)) continue;
    const PolicyMatch match = match_failure_policy(spec_, *pod);
    const bool is_last = match.action == "FailIndex" ||
                         (match.counts() && failures_before(*pod) >= *spec_.backoffLimitPerIndex);
    if (is_last) failed_indexes_.add(*index);
    PodPtr& kept = latest[*index];
    const auto tries = [](const Pod& one) {
      return failures_before(one) + ignored_failures_before(one);
    };
    if (!kept || tries(*kept) < tries(*pod)) kept = pod;
  }
  std::set<int> busy;
  for (const PodPtr& pod : active_)
    if (const auto index = valid_index(*pod, spec_)) busy.insert(*index);
  for (const auto& [index, pod] : latest)
    if (!busy.contains(index) && !succeeded_indexes_.has(index) && !failed_indexes_.has(index) &&
        !is_processed(*pod))
      delayed_[index] = pod;
}

// ---- decisions -----------------------------------------------------------------------------

Ending Pass::standing_decision() const {
  for (const std::string_view type : {"SuccessCriteriaMet", "FailureTarget"})
    if (const BatchJobCondition* found = status_.condition(type);
        found != nullptr && found->status == "True")
      return {type, found->reason, found->message, nullptr};
  return {};
}

Ending Pass::decide_by_policy() const {
  if (!spec_.podFailurePolicy) return {};
  for (const PodPtr& pod : pods_) {
    if (!has_failed(*pod, spec_)) continue;
    PolicyMatch match = match_failure_policy(spec_, *pod);
    if (match.action == "FailJob")
      return {"FailureTarget", "PodFailurePolicy", std::move(match.message),
              &rules::fail_by_policy};
  }
  return {};
}

Ending Pass::decide_by_limits() {
  const std::int64_t limit = spec_.backoffLimit.value_or(6);
  std::int64_t restarts = 0;
  if (spec_.template_.spec->restartPolicy == "OnFailure")
    for (const PodPtr& pod : pods_) restarts += restarts_in(*pod);
  const bool restarted_too_often = limit == 0 ? restarts > 0 : restarts >= limit;
  if (failed_ > limit ||
      (spec_.template_.spec->restartPolicy == "OnFailure" && restarted_too_often))
    return {"FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit",
            &rules::backoff_limit_reached};
  if (!spec_.activeDeadlineSeconds || spec_.is_suspended() || !status_.startTime) return {};
  const Duration left =
      *status_.startTime + std::chrono::seconds(*spec_.activeDeadlineSeconds) - now_;
  if (left <= Duration::zero())
    return {"FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline",
            &rules::deadline_reached};
  requeue_after(left);
  return {};
}

Ending Pass::decide_by_indexes() const {
  if (spec_.backoffLimitPerIndex) {
    const int failed = failed_indexes_.size();
    if (spec_.maxFailedIndexes && failed > *spec_.maxFailedIndexes)
      return {"FailureTarget", "MaxFailedIndexesExceeded",
              "Job has exceeded the specified maximal number of failed indexes",
              &rules::too_many_failed_indexes};
    if (failed > 0 && failed + succeeded_indexes_.size() >= spec_.completions.value_or(0))
      return {"FailureTarget", "FailedIndexes", "Job has failed indexes", &rules::failed_indexes};
  }
  if (auto why = match_success_policy(spec_, succeeded_indexes_))
    return {"SuccessCriteriaMet", "SuccessPolicy", std::move(*why), &rules::success_by_policy};
  return {};
}

// The first that applies.
Ending Pass::decide() {
  if (Ending ending = standing_decision()) return ending;
  if (Ending ending = decide_by_policy()) return ending;
  if (Ending ending = decide_by_limits()) return ending;
  return spec_.is_indexed() ? decide_by_indexes() : Ending();
}

// ---- conditions ----------------------------------------------------------------------------

bool Pass::set_condition(std::string_view type, bool is_true, std::string_view reason,
                         std::string_view message) {
  const std::string_view value = is_true ? "True" : "False";
  auto found = std::find_if(status_.conditions.begin(), status_.conditions.end(),
                            [&](const BatchJobCondition& c) { return c.type_ == type; });
  if (found == status_.conditions.end()) {
    if (!is_true) return false;  // what never was is not denied
    found = status_.conditions.insert(found, BatchJobCondition{});
    found->type_ = type;
  } else if (found->status == value && found->reason == reason && found->message == message) {
    return false;
  }
  found->status = value;
  found->reason = reason;
  found->message = message;
  found->lastProbeTime = found->lastTransitionTime = now_.floor_seconds();
  return true;
}

void Pass::say_suspended(bool suspended) {
  const bool is_news = suspended ? set_condition("Suspended", true, "JobSuspended", "Job suspended")
                                 : set_condition("Suspended", false, "JobResumed", "Job resumed");
  if (!is_news) return;
  changed_ = true;
  status_.startTime = suspended ? OptionalTime() : OptionalTime(now_.floor_seconds());
  Step& step = add(suspended ? rules::suspend : rules::resume);
  step.event = EventText{"Normal", suspended ? "Suspended" : "Resumed",
                         suspended ? "Job suspended" : "Job resumed"};
  suspension_ = step;
}

// ---- the whole -----------------------------------------------------------------------------

// The last condition, once nobody is left to be counted or waited for.
void Pass::finish() {
  const UncountedTerminatedPods& uncounted = *status_.uncountedTerminatedPods;
  const bool ends = ending_ && has_room_ && uncounted.succeeded.empty() &&
                    uncounted.failed.empty() && status_.terminating.value_or(0) == 0;
  if (ends) {
    const bool success = ending_.is_success();
    set_condition(success ? "Complete" : "Failed", true, ending_.reason, ending_.message);
    if (success) status_.completionTime = now_.floor_seconds();
    changed_ = true;
  }
  if (changed_) write(ends ? rules::finish : rules::write_status);
  if (!ends) return;
  made_.plan.steps.back().event =
      ending_.is_success() ? EventText{"Normal", "Completed", "Job completed"}
                           : EventText{"Warning", Text(ending_.reason), Text(ending_.message)};
  if (ending_.is_success() && spec_.completions && status_.succeeded > *spec_.completions)
    add(rules::finish).event =
        EventText{"Warning", "TooManySucceededPods",
                  "Too many succeeded pods running after completion count reached"};
}

Planned Pass::run() {
  observe();
  find_new_ends();
  if (!status_.startTime && !spec_.is_suspended()) status_.startTime = now_.floor_seconds();
  if (spec_.is_indexed() && spec_.backoffLimitPerIndex) delay_replacements();
  ending_ = decide();
  if (ending_) {
    if (ending_.rule != nullptr) add(*ending_.rule).text = ending_.message;
    end_pods();
    if (!seen_.expectations_met) {
      add(rules::expectations_unmet);
      ending_ = {};
    }
  } else {
    const bool manages = seen_.expectations_met && !job_.metadata.deletionTimestamp;
    if (manages)
      manage();
    else if (!seen_.expectations_met)
      add(rules::expectations_unmet);
    const bool complete = active_count_ == 0 &&
                          (spec_.completions ? succeeded_ >= *spec_.completions : succeeded_ > 0);
    if (complete) {
      ending_ = {"SuccessCriteriaMet", "CompletionsReached",
                 "Reached expected number of succeeded pods", &rules::completions_reached};
      add(*ending_.rule);
    } else if (manages) {
      say_suspended(spec_.is_suspended());
    }
  }
  changed_ = changed_ || status_.active != active_count_ || status_.ready != ready_ ||
             status_.terminating != terminating_;
  status_.active = active_count_;
  status_.ready = ready_;
  status_.terminating = terminating_;
  account();
  finish();
  allow_for_refusals();
  return std::move(made_);
}

bool is_managed_elsewhere(const Job& job) {
  return job.spec->managedBy && *job.spec->managedBy != this_controller;
}

bool is_selected(const Job& job, const Object& object) {
  if (!job.spec->selector) return false;
  const auto matcher = LabelMatcher::from(*job.spec->selector);
  return matcher && !matcher->empty() && matcher->matches(object.metadata.labels);
}

Planned plan(const View& seen, Time now) {
  Planned nothing;
  const auto only = [&](const Rule& rule) {
    nothing.plan.about = seen.job;
    Step& step = nothing.plan.steps.emplace_back();
    step.rule = &rule;
    return nothing;
  };
  if (!seen.job) return only(rules::job_is_gone);
  if (is_managed_elsewhere(*seen.job)) return only(rules::managed_elsewhere);
  if (seen.job->status.is_finished()) return only(rules::job_is_finished);
  return Pass(seen, now).run();
}

}  // namespace ddptwin::controller::job
