#include "controller/manager/job/controller.hpp"

#include <boost/json.hpp>

#include "controller/manager/job/plan.hpp"
#include "controller/manager/job/rules.hpp"

namespace ddptwin::controller {

using namespace job;
namespace {

namespace json = boost::json;

// The Job that controls the pod, by the cache; null: it is gone, or another has its name.
ObjectPtr job_of(const Object& pod, const Cache& cache) {
  const OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr || owner->kind != "Job") return nullptr;
  ObjectPtr found = cache.find(Job::info(), pod.metadata.namespace_, owner->name);
  return found && found->metadata.uid == owner->uid ? found : nullptr;
}

void wake_selecting(const Object& pod, const Cache& cache, Reaction& reaction) {
  for (const ObjectPtr& one : cache.list(Job::info(), pod.metadata.namespace_))
    if (is_selected(static_cast<const Job&>(*one), pod)) reaction.wake.push_back(parts_of(*one));
}

}  // namespace

std::vector<Watched> JobController::watches(const KindRegistry&) const {
  return {{&Job::info(), {}}, {&Pod::info(), {}}};
}

Reaction JobController::pod_changed(const Change& change, const Cache& cache,
                                    Expectations& expectations) {
  Reaction reaction;
  reaction.wake_after = batch_period;
  const Pod& pod = static_cast<const Pod&>(change.object());
  if (!change.after || !is_tracked(pod)) released_.erase(std::string(pod.metadata.uid.view()));
  if (change.before && change.after) {
    if (change.before->metadata.resourceVersion == change.after->metadata.resourceVersion)
      return reaction;
    const OwnerReference *was = change.before->metadata.controller(),
                         *is = change.after->metadata.controller();
    const bool moved =
        (was == nullptr) != (is == nullptr) || (was != nullptr && was->uid != is->uid);
    if (moved)
      if (const ObjectPtr owner = job_of(*change.before, cache))
        reaction.wake.push_back(parts_of(*owner));
    if (is == nullptr &&
        (moved || *change.before->metadata.labels != *change.after->metadata.labels))
      wake_selecting(pod, cache, reaction);
  } else if (change.after && pod.metadata.controller() == nullptr) {
    wake_selecting(pod, cache, reaction);
  }
  const ObjectPtr owner = job_of(pod, cache);
  if (!owner) return reaction;
  const Key key = joined_key(parts_of(*owner));
  if (!change.after || pod.metadata.deletionTimestamp)
    expectations.lower(key, 0, 1);
  else if (!change.before)
    expectations.lower(key, 1, 0);
  reaction.wake.push_back(parts_of(*owner));
  return reaction;
}

Reaction JobController::observe(const Change& change, const Cache& cache,
                                Expectations& expectations, Time) {
  if (as<Pod>(change.object()) != nullptr) return pod_changed(change, cache, expectations);
  Reaction reaction = Reaction::to_wake(parts_of(change.object()));
  if (!change.after) {
    const Key gone = joined_key(parts_of(change.object()));
    back_off_.erase(gone);
    next_back_off_.erase(gone);
  }
  if (change.before && change.after &&
      change.before->metadata.generation == change.after->metadata.generation)
    reaction.wake_after = batch_period;
  return reaction;
}

Plan JobController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  View view;
  view.job = seen.cache.find<Job>(parts.namespace_, parts.name);
  if (view.job) view.pods = seen.cache.list(Pod::info(), parts.namespace_);
  view.expectation_key = key;
  view.expectations_met = seen.expectations.satisfied(key, now);
  view.released = &released_;
  if (const auto known = back_off_.find(key); known != back_off_.end())
    view.back_off = known->second;
  Planned planned = job::plan(view, now);
  // A Job that is over has none.
  if (view.job) next_back_off_.insert_or_assign(key, planned.back_off.value_or(BackOffRecord()));
  return std::move(planned.plan);
}

void JobController::accepted(const Key& key, const Step& step, const api::Response&) {
  if (step.removes) released_.insert(std::string(step.removes->metadata.uid.view()));
  const bool counts = step.rule == &job::rules::count_pods ||
                      step.rule == &job::rules::write_status || step.rule == &job::rules::finish;
  if (step.rule == &job::rules::finish) back_off_.erase(key);
  const auto next = next_back_off_.find(key);
  if (!counts || next == next_back_off_.end()) return;
  if (step.rule == &job::rules::finish || next->second.failures == 0)
    back_off_.erase(key);
  else
    back_off_.insert_or_assign(key, next->second);
  next_back_off_.erase(next);
}

std::vector<Key> JobController::remembered() const {
  std::vector<Key> keys = keys_of(back_off_);
  for (Key& key : keys_of(next_back_off_)) keys.push_back(std::move(key));
  keys.insert(keys.end(), released_.begin(), released_.end());
  return keys;
}

void JobController::reset() {
  released_.clear();
  back_off_.clear();
  next_back_off_.clear();
}

// ---- pods without a Job --------------------------------------------------------------------

namespace {

// Nobody counts it any more: its Job is gone, or has come to its end.
bool is_orphan(const Pod& pod, const Cache& cache) {
  if (!is_tracked(pod)) return false;
  const OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr) return true;
  if (owner->kind != "Job") return false;
  const ObjectPtr job = job_of(pod, cache);
  return !job || (static_cast<const Job&>(*job).status.is_finished() &&
                  !is_managed_elsewhere(static_cast<const Job&>(*job)));
}

}  // namespace

std::vector<Watched> JobOrphanController::watches(const KindRegistry&) const {
  return {{&Pod::info(), {}}, {&Job::info(), {}}};
}

Reaction JobOrphanController::observe(const Change& change, const Cache& cache, Expectations&,
                                      Time) {
  Reaction reaction;
  const Object& object = change.object();
  if (const Pod* pod = as<Pod>(object)) {
    if (change.after && is_orphan(*pod, cache)) reaction.wake.push_back(parts_of(*pod));
    return reaction;
  }
  if (change.after && !static_cast<const Job&>(*change.after).status.is_finished()) return reaction;
  for (const ObjectPtr& one : cache.list(Pod::info(), object.metadata.namespace_)) {
    const OwnerReference* owner = one->metadata.controller();
    const bool is_its = owner != nullptr && owner->uid == object.metadata.uid;
    if (is_its && is_tracked(static_cast<const Pod&>(*one)))
      reaction.wake.push_back(parts_of(*one));
  }
  return reaction;
}

Plan JobOrphanController::plan(const Key& key, const Observed& seen, Time) const {
  Plan plan;
  const KeyParts parts = split_key(key);
  const auto pod = seen.cache.find<Pod>(parts.namespace_, parts.name);
  if (!pod || !is_orphan(*pod, seen.cache)) return plan;
  Step& step = plan.steps.emplace_back();
  step.rule = &job::rules::release_orphan_pod;
  step.request =
      api::patch(*pod, api::PatchType::strategic,
                 json::object{{"metadata", json::object{{"$deleteFromPrimitiveList/finalizers",
                                                         json::array{job_tracking_finalizer}}}}});
  step.tolerated = Reason::not_found;
  return plan;
}

// ---- time to live --------------------------------------------------------------------------

namespace {

std::optional<Time> expiry(const Job& job) {
  if (!job.spec->ttlSecondsAfterFinished || job.metadata.deletionTimestamp) return std::nullopt;
  for (const BatchJobCondition& one : job.status.conditions)
    if ((one.type_ == "Complete" || one.type_ == "Failed") && one.status == "True" &&
        one.lastTransitionTime)
      return *one.lastTransitionTime + std::chrono::seconds(*job.spec->ttlSecondsAfterFinished);
  return std::nullopt;
}

}  // namespace

std::vector<Watched> TtlAfterFinishedController::watches(const KindRegistry&) const {
  return {{&Job::info(), {}}};
}

Reaction TtlAfterFinishedController::observe(const Change& change, const Cache&, Expectations&,
                                             Time) {
  if (!change.after || !expiry(static_cast<const Job&>(*change.after))) return {};
  return Reaction::to_wake(parts_of(*change.after));
}

Plan TtlAfterFinishedController::plan(const Key& key, const Observed& seen, Time now) const {
  Plan plan;
  const KeyParts parts = split_key(key);
  const auto job = seen.cache.find<Job>(parts.namespace_, parts.name);
  const auto due = job ? expiry(*job) : std::nullopt;
  if (!due) return plan;
  Step& step = plan.steps.emplace_back();
  if (*due > now) {
    step.rule = &job::rules::await_ttl;
    plan.requeue_after = *due - now;
    return plan;
  }
  step.rule = &job::rules::ttl_is_over;
  step.request = api::remove(*job, {.propagation = api::Propagation::foreground,
                                    .precondition_uid = std::string(job->metadata.uid.view())});
  step.tolerated = Reason::not_found;
  return plan;
}

}  // namespace ddptwin::controller
