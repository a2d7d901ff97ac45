// Pods that are over are counted once, by uid, before their finalizer goes (upstream
// trackJobStatusAndRemoveFinalizers).
#include <fmt/format.h>

#include <algorithm>

#include "controller/manager/job/pass.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::job {
namespace {

constexpr std::size_t uncounted_max = 500;

void put(std::vector<std::string>& uids, std::string_view uid) { uids.emplace_back(uid); }

}  // namespace

bool has(const std::vector<std::string>& uids, std::string_view uid) {
  return std::find(uids.begin(), uids.end(), uid) != uids.end();
}

boost::json::object without_finalizer() {
  return {{"metadata", boost::json::object{{"$deleteFromPrimitiveList/finalizers",
                                            boost::json::array{job_tracking_finalizer}}}}};
}

bool Pass::may_release(const Pod& pod, bool failed) const {
  if (job_.metadata.deletionTimestamp || ending_ || pod.status.phase == "Succeeded") return true;
  if (!failed) return false;
  if (!spec_.backoffLimitPerIndex) return true;
  const auto index = valid_index(pod, spec_);
  const auto waits = index ? delayed_.find(*index) : delayed_.end();
  return waits == delayed_.end() || waits->second->metadata.uid != pod.metadata.uid;
}

void Pass::count(const Pod& pod, bool failed) {
  UncountedTerminatedPods& uncounted = *status_.uncountedTerminatedPods;
  const std::string_view uid = pod.metadata.uid.view();
  const auto index = valid_index(pod, spec_);
  if (pod.status.phase == "Succeeded" && !has(uncounted.failed, uid)) {
    if (spec_.is_indexed()) {
      if (!index || succeeded_before_.has(*index)) return;
      succeeded_before_.add(*index);
      changed_ = true;
    } else if (!has(uncounted.succeeded, uid)) {
      put(uncounted.succeeded, uid);
      changed_ = true;
    }
    return;
  }
  // Of a Job that fails every pod that is not over has failed.
  if (!failed && (!ending_ || ending_.is_success())) return;
  if (has(uncounted.failed, uid) || (spec_.is_indexed() && !index)) return;
  if (!match_failure_policy(spec_, pod).counts()) return;
  put(uncounted.failed, uid);
  changed_ = true;
}

// Those whose finalizer has gone move from the list into the numbers.
void Pass::settle(const std::vector<std::string>& still_tracked) {
  UncountedTerminatedPods& uncounted = *status_.uncountedTerminatedPods;
  for (auto [uids, number] : {std::pair{&uncounted.succeeded, &status_.succeeded},
                              std::pair{&uncounted.failed, &status_.failed}}) {
    const std::size_t before = uids->size();
    std::erase_if(*uids, [&](const std::string& uid) { return !has(still_tracked, uid); });
    *number += static_cast<std::int32_t>(before - uids->size());
    if (before != uids->size()) changed_ = true;
  }
}

Step Pass::write_step(const Rule& rule, const BatchJobStatus& status) const {
  auto changed = std::make_shared<Job>(job_);
  changed->status = status;
  Step step;
  step.rule = &rule;
  step.request = api::update(std::move(changed), "status");
  step.follows = true;
  return step;
}

void Pass::write(const Rule& rule) {
  made_.plan.steps.push_back(write_step(rule, status_));
  changed_ = false;
}

// A pod that is refused ends the creations. The counts are written all the same, and the rest is
// for the next sync.
void Pass::allow_for_refusals() {
  for (std::size_t i = 0; i < created_.count; ++i) {
    BatchJobStatus status = first_;
    status.active = created_.before + static_cast<int>(i);
    Step& step = made_.plan.steps[created_.first + i];
    std::vector<Step>& instead = step.instead.emplace();
    step.instead_fails = true;
    if (suspension_) instead.push_back(*suspension_);
    if (!equal(status, job_.status)) instead.push_back(write_step(rules::count_pods, status));
  }
}

void Pass::account() {
  std::vector<std::string> tracked;
  std::vector<PodPtr> done, pods = pods_;
  for (const PodPtr& pod : pods_)
    if (!is_processed(*pod)) tracked.emplace_back(pod->metadata.uid.view());
  settle(tracked);
  if (spec_.is_indexed())
    std::stable_sort(pods.begin(), pods.end(), [](const PodPtr& a, const PodPtr& b) {
      return index_of(*a).value_or(-1) < index_of(*b).value_or(-1);
    });
  const UncountedTerminatedPods& uncounted = *status_.uncountedTerminatedPods;
  const int succeeded_at_first = succeeded_before_.size();
  for (const PodPtr& pod : pods) {
    if (is_processed(*pod)) continue;
    const bool failed = has_failed(*pod, spec_);
    if (!may_release(*pod, failed)) continue;
    done.push_back(pod);
    count(*pod, failed);
    const std::size_t new_indexes =
        static_cast<std::size_t>(succeeded_before_.size() - succeeded_at_first);
    if (new_indexes + uncounted.succeeded.size() + uncounted.failed.size() >= uncounted_max) {
      has_room_ = false;
      break;
    }
  }
  if (spec_.is_indexed()) {
    const std::string text = succeeded_before_.text();
    if (text != status_.completedIndexes) changed_ = true;
    status_.completedIndexes = text;
    status_.succeeded = succeeded_before_.size();
    std::optional<std::string> failed_text;
    if (spec_.backoffLimitPerIndex) failed_text = failed_indexes_.text();
    if (failed_text != status_.failedIndexes) changed_ = true;
    status_.failedIndexes = std::move(failed_text);
  }
  if (ending_ && set_condition(ending_.type, true, ending_.reason, ending_.message))
    changed_ = true;
  first_ = status_;
  if (changed_) write(rules::count_pods);
  std::vector<std::string> left = tracked;
  for (const PodPtr& pod : done) {
    Step& step = add(rules::release_counted_pod);
    step.request = api::patch(*pod, api::PatchType::strategic, without_finalizer());
    step.tolerated = Reason::not_found;
    step.removes = pod;
    std::erase(left, std::string(pod->metadata.uid.view()));
  }
  settle(left);
}

}  // namespace ddptwin::controller::job
