// A Job of batch/v1 in a cluster of two nodes to which anything happens: one pod an index, every
// end counted once, the delay before failed pods are made anew, and an end for a reason
// (spec/trainjob.md §6, §11.10).
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "core/numbers.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/batch_v1.hpp"
#include "objects/index_set.hpp"
#include "objects/pod_phase.hpp"
#include "property.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/world/world.hpp"

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

struct Happening {
  enum class Kind : std::uint8_t {
    exit,      // a container, with code `number`
    remove,    // a pod, with `number` seconds of grace more
    lose,      // its sandbox
    suspend,   // or resume
    parallel,  // another parallelism
    crash,     // of the controller, which comes back after `number` seconds
    kubelets,  // begin anew
    rest,
  };
  Kind kind = Kind::rest;
  int pod = 0;
  int number = 0;
  int seconds = 0;  // afterwards
};
void showValue(const Happening& one, std::ostream& out) {
  constexpr std::array names{"exit",        "delete", "lose",     "suspend or resume",
                             "parallelism", "crash",  "kubelets", "rest"};
  out << names[static_cast<std::size_t>(one.kind)] << " pod " << one.pod << " number " << one.number
      << ", then " << one.seconds << " s";
}

using Kind = Happening::Kind;

rc::Gen<Happening> any_happening() {
  return gen::build<Happening>(
      gen::set(&Happening::kind, gen::element(Kind::exit, Kind::exit, Kind::exit, Kind::remove,
                                              Kind::lose, Kind::suspend, Kind::parallel,
                                              Kind::crash, Kind::kubelets, Kind::rest)),
      gen::set(&Happening::pod, gen::resize(rc::kNominalSize, gen::inRange(0, pods_max))),
      gen::set(&Happening::number, gen::element(0, 0, 1, 3)),
      gen::set(&Happening::seconds, gen::element(0, 1, 2, 5, 20, 60)));
}

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
class JobRun {
 public:
  JobRun(std::uint64_t seed, const Shape& shape)
      : shape_(shape),
        loop_(Random(seed).split("loop"), virtual_start),
        runtime_(loop_),
        world_(loop_, options_of(seed), &runtime_) {
    world_.trace().add_sink([this](const Record& record) { on_record(record); });
    DDPTWIN_ASSERT(world_.start().has_value());
    rest(1s);
    DDPTWIN_ASSERT(world_.call(api::create(job_of(shape)), "user").has_value());
  }

  void live_through(const std::vector<Happening>& events) {
    for (const Happening& one : events) {
      apply(one);
      require_safe();
    }
    come_to_its_end();
    require_safe();
    require_settled();
  }

 private:
  static WorldOptions options_of(std::uint64_t seed) {
    WorldOptions options;
    options.seed = seed;
    options.scheduler = true;
    options.kinds = {&Job::info()};
    options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                     {.name = "n1", .address = "192.168.0.2"}};
    return options;
  }

  void apply(const Happening& one) {
    switch (one.kind) {
      case Kind::exit:
        if (const auto pod = pod_at(one.pod))
          runtime_.container_exit("default", pod->metadata.name.str(), "c", one.number);
        break;
      case Kind::remove:
        if (const auto pod = pod_at(one.pod))
          (void)world_.call(api::remove(*pod, {.grace_period_seconds = 1 + one.number}), "user");
        break;
      case Kind::lose:
        if (const auto pod = pod_at(one.pod))
          runtime_.sandbox_dies("default", pod->metadata.name.str());
        break;
      case Kind::suspend:
        patch(json::object{{"spec", {{"suspend", !job()->spec->suspend.value_or(false)}}}});
        break;
      case Kind::parallel:
        patch(json::object{{"spec", {{"parallelism", one.number}}}});
        break;
      case Kind::crash:
        crashed_ = true;
        (void)world_.crash_controller("job-controller");
        rest(std::chrono::seconds(one.number));
        (void)world_.start_controller("job-controller");
        break;
      case Kind::kubelets:
        world_.restart_kubelets();
        break;
      case Kind::rest:
        break;
    }
    rest(std::chrono::seconds(one.seconds));
  }

  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }
  std::shared_ptr<const Job> job() const {
    return as<Job>(world_.find(Job::info(), "default", "j"));
  }
  std::vector<std::shared_ptr<const Pod>> pods() const {
    std::vector<std::shared_ptr<const Pod>> found;
    for (const ObjectPtr& pod : world_.objects(Pod::info(), "default"))
      found.push_back(as<Pod>(pod));
    return found;
  }
  std::shared_ptr<const Pod> pod_at(int index) const {
    std::vector<std::shared_ptr<const Pod>> running = pods();
    std::erase_if(running, [](const auto& pod) { return is_terminal_phase(pod->status.phase); });
    return running.empty() ? nullptr : running[static_cast<std::size_t>(index) % running.size()];
  }
  void patch(const Json& body) {
    (void)world_.call(api::patch(*job(), api::PatchType::merge, body), "user");
  }

  // It is resumed, and all of its pods end well from now on.
  void come_to_its_end() {
    rest(afterwards);
    patch(json::object{{"spec", {{"suspend", false}, {"parallelism", shape_.parallelism}}}});
    for (int round = 0; round < 3 * pods_max && !job()->status.is_finished(); ++round) {
      rest(afterwards);
      for (const auto& pod : pods())
        if (!is_terminal_phase(pod->status.phase))
          runtime_.container_exit("default", pod->metadata.name.str(), "c", 0);
      rest(1min);
    }
    rest(1min);
  }

  void require_safe() const {
    if (!violations_.empty()) RC_FAIL(violations_.front());
  }

  void require_settled() const {
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

  void violate(std::string text) { violations_.push_back(std::move(text)); }

  void on_record(const Record& record) {
    if (record.kind == RecordKind::object_modified && as<Job>(*record.after) != nullptr)
      finished_ = static_cast<const Job&>(*record.after).status.is_finished();
    const ObjectPtr object = record.after ? record.after : record.before;
    const Pod* pod = object ? as<Pod>(*object) : nullptr;
    if (pod == nullptr) return;
    if (record.kind == RecordKind::object_added) on_created(*pod);
    if (record.kind != RecordKind::object_modified) return;
    on_end(*pod);
    const auto& before = static_cast<const Pod&>(*record.before);
    if (is_held(before) && !is_held(*pod)) on_released(before);
  }

  void on_end(const Pod& pod) {
    if (!is_terminal_phase(pod.status.phase) || pod.status.containerStatuses.empty()) return;
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
                       shape_.per_index < 0 && !crashed_;
    if (waits && loop_.now() < *last_failure_ + 10s)
      violate(fmt::format("{} is made {} after a failure", pod.metadata.name,
                          format_go_duration(loop_.now() - *last_failure_)));
  }

  Shape shape_;
  VirtualLoop loop_;
  ScriptRuntime runtime_;
  World world_;
  bool crashed_ = false, finished_ = false;
  int failures_ = 0, successes_ = 0;
  std::set<int> good_indexes_{};
  std::optional<Time> last_failure_{}, last_success_{};
  std::vector<std::string> violations_{};
};

TEST(BatchJobProperties, OnePodAnIndexEveryEndCountedOnceAndAnEndForAll) {
  holds(
      [](std::uint64_t seed) {
        const Shape shape = *any_shape().as("job");
        const auto events = *gen::resize(12, gen::vector_of(any_happening())).as("events");
        JobRun run(seed, shape);
        run.live_through(events);
      },
      world_cost);
}

}  // namespace
}  // namespace ddptwin::property::batch_job_properties_test
