#include "controller/manager/job/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>

#include "controller/manager/job/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/codec.hpp"
#include "objects/selector.hpp"

namespace ddptwin::controller::job {
namespace {

namespace json = boost::json;

constexpr int pods_per_sync_max = 500;
constexpr std::size_t uncounted_max = 500;
constexpr std::size_t generated_name_max = 58;  // five characters more are drawn
constexpr std::string_view this_controller = "kubernetes.io/job-controller";
constexpr RefusalText pod_not_created{"FailedCreate", "Error creating: "};
// Of a pod that has gone nothing is told.
const Refusal pod_not_deleted{"FailedDelete", "Error deleting: ", Reason::not_found};

json::object without_finalizer() {
  return {{"metadata", json::object{{"$deleteFromPrimitiveList/finalizers",
                                     json::array{job_tracking_finalizer}}}}};
}

// Why a Job ends.
struct Ending {
  std::string_view type{};  // SuccessCriteriaMet, FailureTarget; empty: it goes on
  std::string reason{};
  std::string message{};
  const Rule* rule = nullptr;

  explicit operator bool() const { return !type.empty(); }
  bool is_success() const { return type == "SuccessCriteriaMet"; }
};

void put(std::vector<std::string>& uids, std::string_view uid) { uids.emplace_back(uid); }
bool has(const std::vector<std::string>& uids, std::string_view uid) {
  return std::find(uids.begin(), uids.end(), uid) != uids.end();
}

// One sync in the making.
class Pass {
 public:
  Pass(const View& seen, Time now)
      : seen_(seen), job_(*seen.job), spec_(*seen.job->spec), now_(now), status_(job_.status) {
    made_.plan.about = seen.job;
    if (!status_.uncountedTerminatedPods) status_.uncountedTerminatedPods.emplace();
  }
  Planned run();

 private:
  void observe();
  void find_new_ends();
  Ending decide();
  Ending standing_decision() const;
  Ending decide_by_policy() const;
  Ending decide_by_limits();
  Ending decide_by_indexes() const;
  void delay_replacements();
  // Deletes them, without their being failures.
  void remove(const std::vector<PodPtr>& pods);
  void end_pods();
  Step& remove_pod(const Pod& pod);
  void manage();
  void create(int count);
  std::vector<int> next_indexes(int count) const;
  Duration delay_of_index(int index) const;
  std::shared_ptr<Pod> new_pod(std::optional<int> index) const;
  void say_suspended(bool suspended);
  bool set_condition(std::string_view type, bool is_true, std::string_view reason,
                     std::string_view message);

  void account();
  bool may_release(const Pod& pod, bool failed) const;
  // Counts a pod that is over; false: no more are counted in this sync.
  void count(const Pod& pod, bool failed);
  void settle(const std::vector<std::string>& released);
  Step write_step(const Rule& rule, const BatchJobStatus& status) const;
  void write(const Rule& rule);
  void allow_for_refusals();
  void finish();

  bool is_processed(const Pod& pod) const {
    return !is_tracked(pod) || seen_.released->contains(std::string(pod.metadata.uid.view()));
  }
  // The first of several forgets what was expected before.
  void expect(Step& step, Expected one, bool is_first) const {
    one.when = Expected::When::unless_refused;
    one.key = seen_.expectation_key;
    if (is_first)
      step.expected.push_back({.when = Expected::When::reset, .key = seen_.expectation_key});
    step.expected.push_back(std::move(one));
  }
  Step& add(const Rule& rule) {
    Step& step = made_.plan.steps.emplace_back();
    step.rule = &rule;
    return step;
  }
  void requeue_after(Duration delay) {
    auto& after = made_.plan.requeue_after;
    if (!after || delay < *after) after = delay;
  }

  const View& seen_;
  const Job& job_;
  const JobSpec& spec_;
  Time now_;
  Planned made_{};
  BatchJobStatus status_;
  BatchJobStatus first_{};  // as the first write of this sync has it, if there is one
  std::vector<PodPtr> pods_{}, active_{};
  int active_count_ = 0, ready_ = 0, terminating_ = 0;
  std::int64_t succeeded_ = 0, failed_ = 0;
  IndexSet succeeded_before_{}, succeeded_indexes_{}, failed_indexes_{};
  std::map<int, PodPtr> delayed_{};  // failed pods that wait for their replacement, by index
  std::vector<PodPtr> new_failed_{};
  BackOffRecord back_off_{};
  Ending ending_{};
  // The steps that create pods, and how many were active before.
  struct {
    std::size_t first = 0, count = 0;
    int before = 0;
  } created_{};
  std::optional<Step> suspension_{};  // that tells of it
  bool changed_ = false;              // the counts must be written
  bool has_room_ = true;              // not all pods could be counted in one sync
};

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

// ---- pods ----------------------------------------------------------------------------------

Step& Pass::remove_pod(const Pod& pod) {
  Step& step = add(rules::delete_pod);
  step.request = api::remove(pod);
  step.event = EventText{"Normal", "SuccessfulDelete", pod.metadata.name, "Deleted pod: "};
  step.refusal.emplace() = pod_not_deleted;
  step.tolerated = Reason::not_found;
  --active_count_;
  ++terminating_;
  if (is_ready(pod)) --ready_;
  return step;
}

// The finalizer goes first, so that these are never counted.
void Pass::remove(const std::vector<PodPtr>& pods) {
  bool is_first = true;
  for (const PodPtr& pod : pods) {
    if (is_tracked(*pod)) {
      Step& release = add(rules::delete_pod);
      release.request = api::patch(*pod, api::PatchType::strategic, without_finalizer());
      release.tolerated = Reason::not_found;
    }
    expect(remove_pod(*pod), {.dels = 1}, is_first);
    is_first = false;
  }
}

// Those of a Job that ends keep their finalizers: they are counted.
void Pass::end_pods() {
  for (const PodPtr& pod : active_) remove_pod(*pod);
}

Duration Pass::delay_of_index(int index) const {
  const auto found = delayed_.find(index);
  if (found == delayed_.end()) return Duration::zero();
  const Pod& pod = *found->second;
  return back_off_left(failures_before(pod) + ignored_failures_before(pod) + 1, finish_time(pod),
                       now_);
}

std::vector<int> Pass::next_indexes(int count) const {
  std::set<int> taken;
  for (const PodPtr& pod : active_)
    if (const auto index = valid_index(*pod, spec_)) taken.insert(*index);
  if (replaces_ended_only(spec_))
    for (const PodPtr& pod : pods_)
      if (const auto index = valid_index(*pod, spec_); index && is_ending(*pod))
        taken.insert(*index);
  std::vector<int> indexes;
  for (int index = 0; index < spec_.completions.value_or(0); ++index) {
    if (static_cast<int>(indexes.size()) >= count) break;
    if (!taken.contains(index) && !succeeded_indexes_.has(index) && !failed_indexes_.has(index))
      indexes.push_back(index);
  }
  return indexes;
}

std::shared_ptr<Pod> Pass::new_pod(std::optional<int> index) const {
  auto pod = std::make_shared<Pod>();
  const PodTemplateSpec& from = spec_.template_;
  pod->metadata.namespace_ = job_.metadata.namespace_;
  pod->metadata.labels = from.metadata.labels;
  pod->metadata.annotations = from.metadata.annotations;
  pod->metadata.finalizers = from.metadata.finalizers;
  if (!is_tracked(*pod)) pod->metadata.finalizers.edit().emplace_back(job_tracking_finalizer);
  pod->metadata.ownerReferences = std::vector{controller_reference(job_)};
  pod->spec = from.spec;
  std::string prefix = job_.metadata.name + "-";
  if (index) {
    const std::string number = std::to_string(*index), tail = "-" + number + "-";
    prefix = job_.metadata.name.str().substr(0, generated_name_max - tail.size()) + tail;
    pod->metadata.annotations.edit()[annotation::completion_index] = number;
    pod->metadata.labels.edit()[label::completion_index] = number;
    PodSpec& spec = pod->spec.edit();
    spec.rest.edit().hostname = job_.metadata.name + "-" + number;
    for (auto member : {&PodSpec::initContainers, &PodSpec::containers}) {
      if ((spec.*member).empty()) continue;
      for (Container& container : (spec.*member).edit()) {
        const bool has_one =
            std::any_of(container.env.begin(), container.env.end(),
                        [](const EnvVar& v) { return v.name == "JOB_COMPLETION_INDEX"; });
        if (has_one) continue;
        EnvVar& added = container.env.emplace_back();
        added.name = "JOB_COMPLETION_INDEX";
        ObjectFieldSelector& field = added.valueFrom.edit().fieldRef.emplace();
        field.fieldPath = fmt::format("metadata.labels['{}']", label::completion_index.view());
      }
    }
  }
  pod->metadata.rest.edit().generateName = prefix;
  if (!index || !spec_.backoffLimitPerIndex) return pod;
  int failures = 0, ignored = 0;
  if (const auto found = delayed_.find(*index); found != delayed_.end()) {
    const Pod& before = *found->second;
    failures = failures_before(before);
    ignored = ignored_failures_before(before);
    ++(match_failure_policy(spec_, before).counts() ? failures : ignored);
  }
  StringMap& notes = pod->metadata.annotations.edit();
  notes[annotation::failure_count] = std::to_string(failures);
  if (ignored > 0) notes[annotation::ignored_failure_count] = std::to_string(ignored);
  return pod;
}

void Pass::create(int count) {
  std::vector<std::optional<int>> indexes(static_cast<std::size_t>(count));
  if (spec_.is_indexed()) {
    indexes.clear();
    std::optional<Duration> wait;
    for (const int index : next_indexes(count)) {
      const Duration left = spec_.backoffLimitPerIndex ? delay_of_index(index) : Duration::zero();
      if (left <= Duration::zero())
        indexes.emplace_back(index);
      else if (!wait || left < *wait)
        wait = left;
    }
    if (indexes.empty() && wait) {
      add(rules::await_back_off).text = format_go_duration(*wait);
      return requeue_after(*wait);
    }
    if (wait) requeue_after(*wait);
  }
  created_.before = active_count_;
  created_.first = made_.plan.steps.size();
  created_.count = indexes.size();
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    Step& step = add(rules::create_pod);
    step.request = api::create(new_pod(indexes[i]));
    step.event = EventText{"Normal", "SuccessfulCreate", {}, "Created pod: "};
    step.event->names_answer = true;
    step.refused = &pod_not_created;
    expect(step, {.adds = 1}, i == 0);
    ++active_count_;
  }
}

void Pass::manage() {
  const int active = active_count_, parallelism = spec_.parallelism.value_or(1);
  if (spec_.is_suspended()) {
    if (active > 0) remove(surplus(spec_, active_, active_.size()));
    return;
  }
  std::int64_t wanted = parallelism;
  if (!spec_.completions)
    wanted = succeeded_ > 0 ? active : parallelism;  // a work queue: the others come to their end
  else
    wanted = std::clamp<std::int64_t>(*spec_.completions - succeeded_, 0, parallelism);
  const auto too_many = static_cast<std::size_t>(std::max<std::int64_t>(0, active - wanted));
  std::vector<PodPtr> going = surplus(spec_, active_, too_many);
  if (going.size() > pods_per_sync_max) going.resize(pods_per_sync_max);
  if (!going.empty()) return remove(going);
  const int held = replaces_ended_only(spec_) ? terminating_ : 0;
  const std::int64_t missing = wanted - held - active;
  if (missing <= 0) return;
  if (!spec_.backoffLimitPerIndex)
    if (const Duration left = back_off_.remaining(now_); left > Duration::zero()) {
      add(rules::await_back_off).text = format_go_duration(left);
      return requeue_after(left);
    }
  create(static_cast<int>(std::min<std::int64_t>(missing, pods_per_sync_max)));
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

// ---- counting ------------------------------------------------------------------------------

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

}  // namespace

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
