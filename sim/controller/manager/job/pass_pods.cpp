// Pods that a sync makes and deletes.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "controller/manager/job/pass.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::job {
namespace {

constexpr int pods_per_sync_max = 500;
constexpr std::size_t generated_name_max = 58;  // five characters more are drawn
constexpr RefusalText pod_not_created{"FailedCreate", "Error creating: "};
// Of a pod that has gone nothing is told.
const Refusal pod_not_deleted{"FailedDelete", "Error deleting: ", Reason::not_found};

}  // namespace

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

}  // namespace ddptwin::controller::job
