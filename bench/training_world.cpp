#include "training_world.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "core/virtual_start.hpp"
#include "objects/codec.hpp"

namespace ddptwin::bench {
namespace {

constexpr Time start = virtual_start;
constexpr int killed_code = 137;

WorldOptions options_of(const ClusterShape& shape) {
  WorldOptions options;
  options.seed = shape.seed;
  options.scheduler = true;
  options.systems = default_systems();
  options.flags = shape.flags;
  for (int i = 0; i < shape.nodes; ++i)
    options.nodes.push_back(
        {.name = fmt::format("node-{}", i),
         .address = fmt::format("192.{}.{}.{}", 168 + i / 65536, i / 256 % 256, i % 256)});
  return options;
}

Json replica(const JobShape& job, int replicas) {
  return boost::json::parse(fmt::format(
      R"({{"replicas": {}, "restartPolicy": "OnFailure", "template": {{
        "metadata": {{"annotations": {{"rig/exit.pytorch": "0 after {}",
                                       "rig/exit.init-pytorch": "0 after 1"}}}},
        "spec": {{"containers": [{{"name": "pytorch", "image": "busybox",
          "command": ["ddp-worker", "--steps", "{}"],
          "resources": {{"limits": {{"nvidia.com/gpu": "{}", "cpu": "2", "memory": "8Gi"}}}}
        }}]}}}}}})",
      replicas, job.steps, job.steps, job.gpus));
}

// All that upstream's own bugs do not break.
std::shared_ptr<const scenario::WatchedInvariants> watched() {
  static const auto kept =
      std::make_shared<const scenario::WatchedInvariants>(scenario::kept_by_upstream());
  return kept;
}

bool has_succeeded(const Object& object) {
  const auto* job = as<PyTorchJob>(object);
  return job != nullptr && job->status && job->status->is_true("Succeeded");
}

std::int32_t restarts_of(const Pod& pod) {
  std::int32_t restarts = 0;
  for (const ContainerStatus& status : pod.status.containerStatuses)
    restarts += status.restartCount;
  return restarts;
}

}  // namespace

std::shared_ptr<const PyTorchJob> job_of(const JobShape& job) {
  boost::json::object replicas{{"Master", replica(job, 1)}};
  if (job.workers > 0) replicas["Worker"] = replica(job, job.workers);
  const Json json = boost::json::object{
      {"apiVersion", "kubeflow.org/v1"},
      {"kind", "PyTorchJob"},
      {"metadata", boost::json::object{{"name", job.name}, {"namespace", "default"}}},
      {"spec", boost::json::object{{"runPolicy", boost::json::object{{"cleanPodPolicy", "All"}}},
                                   {"pytorchReplicaSpecs", std::move(replicas)}}}};
  const KindRegistry kinds;
  auto decoded = decode_object(kinds, json);
  DDPTWIN_ASSERT(decoded.has_value());
  return std::static_pointer_cast<const PyTorchJob>(decoded->object);
}

TrainingWorld::TrainingWorld(const ClusterShape& shape)
    : invariants_(watched()),
      loop_(std::make_unique<VirtualLoop>(Random(shape.seed), start, shape.order)),
      runtime_(std::make_unique<ScriptRuntime>(*loop_)),
      world_(std::make_unique<World>(*loop_, options_of(shape), runtime_.get())) {
  world_->trace().add_sink([this](const Record& record) { on_record(record); });
  world_->trace().set_keeper([this](Record&& record) { invariants_.keep(std::move(record)); });
  const Status started = world_->start();
  DDPTWIN_ASSERT(started.has_value());
}

TrainingWorld::~TrainingWorld() = default;

void TrainingWorld::on_record(const Record& record) {
  invariants_.on_record(record);
  if (record.before == nullptr && record.after == nullptr) return;
  ++writes_;
  const Object& object = record.after != nullptr ? *record.after : *record.before;
  if (const auto* pod = as<Pod>(object)) {
    if (record.kind == RecordKind::object_added) {
      ++pods_;
      ++pods_made_;
    }
    if (record.kind == RecordKind::object_deleted) --pods_;
    if (record.kind != RecordKind::object_modified) return;
    restarts_ += static_cast<std::uint64_t>(restarts_of(*pod) -
                                            restarts_of(static_cast<const Pod&>(*record.before)));
    if (doomed_.empty() || pod->status.phase != "Running") return;
    const auto doomed = doomed_.find(pod->metadata.name.str());
    if (doomed == doomed_.end()) return;
    kill_after(doomed->first, doomed->second);
    doomed_.erase(doomed);
  } else if (record.kind == RecordKind::object_modified && has_succeeded(object) &&
             !has_succeeded(*record.before)) {
    ++succeeded_;
  }
}

void TrainingWorld::create(std::shared_ptr<const PyTorchJob> job) {
  const auto made = world_->call(api::create(std::move(job)), "bench");
  DDPTWIN_ASSERT(made.has_value());
}

void TrainingWorld::kill_after(const std::string& pod, Duration delay) {
  kills_.push_back(loop_->after(loop_->new_lane(), delay, [this, pod] {
    runtime_->container_exit("default", pod, "pytorch", killed_code);
  }));
}

bool TrainingWorld::run_until_cleaned_up(int jobs) {
  while (succeeded_ < jobs || pods_ > 0)
    if (!loop_->step()) return false;
  return invariants_.violations().empty();
}

std::vector<std::string> TrainingWorld::violations() const {
  std::vector<std::string> texts;
  for (const scenario::Violation& one : invariants_.violations())
    texts.push_back(fmt::format("{}: {}", one.invariant, one.text));
  return texts;
}

}  // namespace ddptwin::bench
