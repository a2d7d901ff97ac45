// A Job of batch/v1 in a cluster of two nodes to which anything happens: one pod an index, every
// end counted once, the delay before failed pods are made anew, and an end for a reason
// (spec/trainjob.md §6, §11.10).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "core/numbers.hpp"
#include "objects/batch_v1.hpp"
#include "objects/index_set.hpp"
#include "objects/pod_phase.hpp"
#include "property.hpp"
#include "workload_run.hpp"

namespace ddptwin::property::batch_job_properties_test {
namespace {

namespace json = boost::json;

constexpr int world_cost = 4;
constexpr int pods_max = 4;
// Back-offs of Jobs go up to ten minutes.
constexpr Duration afterwards = 11min;

struct Shape {
  int completions = 1;
  int parallelism = 1;
  int limit = 6;
  int per_index = -1;  // no limit of its own
  bool indexed = false;
  bool in_place = false;   // OnFailure
  bool after_end = false;  // podReplacementPolicy Failed
};
void showValue(const Shape& shape, std::ostream& out) {
  out << (shape.indexed ? "Indexed, " : "") << shape.completions << " completions, "
      << shape.parallelism << " at once, backoffLimit " << shape.limit
      << (shape.in_place ? ", OnFailure" : "")
      << (shape.after_end ? ", replaced after their end" : "");
  if (shape.per_index >= 0) out << ", " << shape.per_index << " per index";
}

using Kind = Happening::Kind;

Json suspended_or_resumed(const Object& now, int) {
  return json::object{{"spec", {{"suspend", !as<Job>(now)->spec->suspend.value_or(false)}}}};
}
Json of_parallelism(const Object&, int number) {
  return json::object{{"spec", {{"parallelism", number}}}};
}
constexpr UserEdit suspend{"suspend or resume", &suspended_or_resumed},
    parallel{"parallelism", &of_parallelism};
constexpr std::array job_edits{&suspend, &parallel};
constexpr std::array numbers{0, 0, 1, 3};
constexpr WorkloadRow job_row{&Job::info, "job-controller", job_edits, pods_max, numbers};

rc::Gen<Shape> any_shape() {
  return gen::build<Shape>(
      gen::set(&Shape::completions, gen::resize(rc::kNominalSize, gen::inRange(0, pods_max))),
      gen::set(&Shape::parallelism, gen::resize(rc::kNominalSize, gen::inRange(1, pods_max))),
      gen::set(&Shape::limit, gen::element(0, 1, 3, 6)),
      gen::set(&Shape::per_index, gen::element(-1, -1, 0, 1)), gen::set(&Shape::indexed),
      gen::set(&Shape::in_place), gen::set(&Shape::after_end));
}

std::shared_ptr<Job> job_of(const Shape& shape) {
  auto job = std::make_shared<Job>();
  job->metadata.namespace_ = "default";
  job->metadata.name = "j";
  JobSpec& spec = job->spec.edit();
  spec.completions = shape.completions;
  spec.parallelism = shape.parallelism;
  spec.backoffLimit = shape.limit;
  spec.completionMode = shape.indexed ? "Indexed" : "NonIndexed";
  if (shape.indexed && shape.per_index >= 0) spec.backoffLimitPerIndex = shape.per_index;
  spec.podReplacementPolicy = shape.after_end ? "Failed" : "TerminatingOrFailed";
  PodSpec& pod = spec.template_.spec.edit();
  pod.restartPolicy = shape.in_place ? "OnFailure" : "Never";
  pod.terminationGracePeriodSeconds = 2;
  Container container;
  container.name = "c";
  container.image = "busybox";
  pod.containers.edit().push_back(std::move(container));
  return job;
}

bool is_held(const Object& pod) {
  const auto& all = pod.metadata.finalizers;
  return std::find(all.begin(), all.end(), job_tracking_finalizer) != all.end();
}

int index_of(const Object& pod) {
  const Text* label = pod.metadata.label("batch.kubernetes.io/job-completion-index");
  return label == nullptr ? -1 : whole_number<int>(*label).value_or(-1);
}

// The Job's controller, and what is known of its pods by the trace.
class JobRun final : public WorkloadRun {
 public:
  JobRun(std::uint64_t seed, const Shape& shape)
      : WorkloadRun(seed, job_row, job_of(shape)), shape_(shape) {}

 private:
  std::shared_ptr<const Job> job() const { return object_as<Job>(); }

  // It is resumed, and all of its pods end well from now on.
  void come_to_rest() override {
    rest(afterwards);
    patch(json::object{{"spec", {{"suspend", false}, {"parallelism", shape_.parallelism}}}});
    for (int round = 0; round < 3 * pods_max && !job()->status.is_finished(); ++round) {
      rest(afterwards);
      for (const auto& pod : pods())
        if (!is_terminal_phase(pod->status.phase)) end_pod(*pod, 0);
      rest(1min);
    }
    rest(1min);
  }

  void require_settled() override {
    const auto now = job();
    const BatchJobStatus& status = now->status;
    RC_ASSERT(status.is_finished());
    RC_ASSERT(status.is_true("Complete") != status.is_true("Failed"));
    RC_ASSERT(status.uncountedTerminatedPods->succeeded.empty());
    RC_ASSERT(status.uncountedTerminatedPods->failed.empty());
    RC_ASSERT(status.active == 0);
    RC_ASSERT(status.terminating.value_or(0) == 0);
    for (const auto& pod : pods()) RC_ASSERT(!is_held(*pod));
    RC_ASSERT(status.failed == failures_);
    if (shape_.indexed)
      RC_ASSERT(status.succeeded == static_cast<int>(good_indexes_.size()));
    else
      RC_ASSERT(status.succeeded == successes_);
    if (status.is_true("Complete")) RC_ASSERT(status.succeeded >= shape_.completions);
    if (shape_.indexed)
      for (const int index : good_indexes_)
        RC_ASSERT(IndexSet::read(status.completedIndexes, shape_.completions).has(index));
  }

  void on_workload(const Record& record) override {
    if (record.kind == RecordKind::object_modified)
      finished_ = static_cast<const Job&>(*record.after).status.is_finished();
  }
  void on_pod(const Record& record, const Pod& pod) override {
    if (record.kind == RecordKind::object_added) on_created(pod);
    // Its last finalizer went, and with it the pod.
    if (record.kind == RecordKind::object_deleted && is_held(pod)) on_released(pod);
    if (record.kind != RecordKind::object_modified) return;
    on_end(pod);
    const auto& before = static_cast<const Pod&>(*record.before);
    if (is_held(before) && !is_held(pod)) on_released(before);
  }

  // What a suspension takes has not failed.
  void on_end(const Pod& pod) {
    if (!is_terminal_phase(pod.status.phase) || pod.status.containerStatuses.empty()) return;
    if (pod.status.phase == "Failed" && job()->spec->suspend.value_or(false)) return;
    const auto& ended = pod.status.containerStatuses.front().state.terminated;
    if (!ended || !ended->finishedAt) return;
    auto& last = pod.status.phase == "Failed" ? last_failure_ : last_success_;
    last = std::max(last.value_or(*ended->finishedAt), Time(*ended->finishedAt));
  }

  // Its end is counted by now, unless it was taken away before it had any.
  void on_released(const Pod& pod) {
    if (finished_) return;
    if (pod.status.phase == "Succeeded") {
      ++successes_;
      good_indexes_.insert(index_of(pod));
    } else if (pod.status.phase == "Failed" || pod.metadata.deletionTimestamp) {
      ++failures_;
    }
  }

  void on_created(const Pod& pod) {
    if (finished_) violate(fmt::format("{} is made though the Job has ended", pod.metadata.name));
    if (!is_held(pod)) violate(fmt::format("{} is made without finalizer", pod.metadata.name));
    for (const auto& other : pods()) {
      if (!shape_.indexed || other->metadata.uid == pod.metadata.uid) continue;
      if (index_of(*other) != index_of(pod) || is_terminal_phase(other->status.phase)) continue;
      if (shape_.after_end || !other->metadata.deletionTimestamp)
        violate(fmt::format("{} is made beside {}", pod.metadata.name, other->metadata.name));
    }
    const bool waits = last_failure_ && (!last_success_ || *last_success_ < *last_failure_) &&
                       shape_.per_index < 0 && !crashed();
    if (waits && now() < *last_failure_ + 10s)
      violate(fmt::format("{} is made {} after a failure", pod.metadata.name,
                          format_go_duration(now() - *last_failure_)));
  }

  Shape shape_;
  bool finished_ = false;
  int failures_ = 0, successes_ = 0;
  std::set<int> good_indexes_{};
  std::optional<Time> last_failure_{}, last_success_{};
};

TEST(BatchJobProperties, OnePodAnIndexEveryEndCountedOnceAndAnEndForAll) {
  holds(
      [](std::uint64_t seed) {
        const Shape shape = *any_shape().as("job");
        const auto events =
            *any_happenings(job_row,
                            {Kind::exit, Kind::exit, Kind::exit, Kind::remove, Kind::lose,
                             Kind::edit, Kind::crash, Kind::kubelets, Kind::rest},
                            12)
                 .as("events");
        JobRun run(seed, shape);
        run.live_through(events);
      },
      world_cost);
}

}  // namespace
}  // namespace ddptwin::property::batch_job_properties_test
