// What becomes of the files of modelled pods, whatever happens to their containers and sandboxes,
// and how large volumes in memory are (spec/kubernetes.md §2.4, §2.10).
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <ostream>

#include "cluster/kubelet/volumes.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/codec.hpp"
#include "property.hpp"
#include "runtime/model/model_runtime.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property::volume_properties_test {
namespace {

constexpr int world_cost = 2;

// Where a worker keeps its checkpoint.
enum class Place : std::uint8_t { disk, memory, host, container };
constexpr const char* place_names[] = {"an emptyDir", "an emptyDir in memory", "a hostPath",
                                       "the container's own files"};
void showValue(const Place& place, std::ostream& out) {
  out << place_names[static_cast<int>(place)];
}

struct Blow {
  enum class Kind : std::uint8_t {
    kill,         // the container's process
    sandbox,      // is lost, with all in it
    kubelet,      // its process is replaced
    killed_away,  // killed while no kubelet is there, which comes back after the rest
    lost_away,    // the same with the sandbox
    remade,       // the pod is deleted, and made again under its name
  };
  Kind kind = Kind::kill;
  int seconds = 0;  // of rest afterwards
};
constexpr const char* blow_names[] = {"killed",
                                      "loses its sandbox",
                                      "kubelet restarts",
                                      "killed while no kubelet is there",
                                      "loses its sandbox while no kubelet is there",
                                      "made again"};
void showValue(const Blow& blow, std::ostream& out) {
  out << blow_names[static_cast<int>(blow.kind)] << ", then " << blow.seconds << " s";
}

rc::Gen<Blow> any_blow() {
  using Kind = Blow::Kind;
  return gen::build<Blow>(
      gen::set(&Blow::kind, gen::element(Kind::kill, Kind::sandbox, Kind::sandbox, Kind::kubelet,
                                         Kind::killed_away, Kind::lost_away, Kind::remade)),
      gen::set(&Blow::seconds, gen::element(0, 5, 60, 400)));
}

constexpr const char* node = "n0";

WorldOptions options_of(std::uint64_t seed) {
  WorldOptions options;
  options.seed = seed;
  options.nodes = {{.name = node}};
  return options;
}

// A pod on a node whose worker saves each step, and goes on from what it finds.
class Worker {
 public:
  Worker(std::uint64_t seed, Place place)
      : place_(place),
        loop_(Random(seed).split("loop"), virtual_start),
        runtime_(loop_, Random(seed).split("runtime"), {}),
        world_(loop_, options_of(seed), &runtime_) {
    Image image;
    image.entrypoint = {"ddptwin-worker"};
    runtime_.add_image("ddptwin-worker", image);
    world_.trace().add_sink([this](const Record& record) { on_record(record); });
    RC_ASSERT(world_.start().has_value());
    rest(2s);
    create();
    rest(5s);
  }

  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }

  void strike(const Blow& blow) {
    using Kind = Blow::Kind;
    const auto pod = as<Pod>(world_.find(Pod::info(), "default", "p"));
    const bool away = blow.kind == Kind::killed_away || blow.kind == Kind::lost_away;
    if (away) RC_ASSERT(world_.stop_kubelet(node));
    if (blow.kind == Kind::kill || blow.kind == Kind::killed_away) kill(*pod);
    if (blow.kind == Kind::sandbox || blow.kind == Kind::lost_away)
      runtime_.sandbox_dies(runtime_.sandbox_of(pod->metadata.uid.str()));
    if (blow.kind == Kind::kubelet) world_.restart_kubelets();
    if (blow.kind == Kind::remade) {
      api::DeleteOptions at_once;
      at_once.grace_period_seconds = 1;
      RC_ASSERT(world_.call(api::remove(*pod, at_once), "user").has_value());
      rest(5s);
      create();
    }
    rest(std::chrono::seconds(blow.seconds));
    if (away) RC_ASSERT(world_.start_kubelet(node));
  }

  bool sound() const { return sound_; }
  int starts() const { return starts_; }
  const std::string& told() const { return told_; }

 private:
  void create() {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = "p";
    pod->metadata.namespace_ = "default";
    PodSpec& spec = pod->spec.edit();
    spec.nodeName = node;
    spec.restartPolicy = "Always";
    Volume volume;
    volume.name = "v";
    if (place_ == Place::host) {
      volume.hostPath.edit().path = "/srv/data";
    } else {
      volume.emptyDir.edit();
      if (place_ == Place::memory) volume.emptyDir.edit().medium = "Memory";
    }
    spec.volumes.edit().push_back(volume);
    Container container;
    container.name = "c";
    container.image = "ddptwin-worker";
    const std::string path = place_ == Place::container ? "/tmp/c" : "/v/c";
    container.args = {"--steps",      "1000000", "--step-time",        "1s",
                      "--checkpoint", path,      "--checkpoint-every", "1"};
    container.env = {{.name = "RANK", .value = "0"},
                     {.name = "WORLD_SIZE", .value = "1"},
                     {.name = "MASTER_ADDR", .value = "localhost"},
                     {.name = "MASTER_PORT", .value = "29500"}};
    VolumeMount mount;
    mount.name = "v";
    mount.mountPath = "/v";
    container.volumeMounts.edit().push_back(mount);
    spec.containers.edit().push_back(container);
    RC_ASSERT(world_.call(api::create(std::move(pod)), "user").has_value());
  }

  void kill(const Pod& pod) {
    if (pod.status.containerStatuses.empty()) return;
    const std::string id = pod.status.containerStatuses.front().rest->containerID.str();
    runtime_.signal_container(id.substr(id.rfind('/') + 1), SIGKILL, {},
                              [](const Result<void>&) {});
  }

  // A worker says what it goes on from before its first step.
  void on_record(const Record& record) {
    if (record.kind == RecordKind::object_deleted && as<Pod>(*record.before) != nullptr &&
        (place_ == Place::disk || place_ == Place::memory))
      saved_.clear();
    if (record.kind != RecordKind::log) return;
    told_.append(record.text).append("\n");
    if (record.text.starts_with("joined")) {
      ++starts_;
      if (place_ == Place::container) saved_.clear();
      found_.clear();
    } else if (record.text.starts_with("resumed from step ")) {
      found_ = record.text.substr(record.text.rfind(' ') + 1);
      sound_ = sound_ && found_ == saved_;
    } else if (record.text.starts_with("checkpoint step ")) {
      // The first after a start: nothing was found, and nothing was to be.
      sound_ = sound_ && (saved_.empty() || !found_.empty());
      saved_ = found_ = record.text.substr(record.text.rfind(' ') + 1);
    }
  }

  Place place_;
  VirtualLoop loop_;
  ModelRuntime runtime_;
  World world_;
  std::string saved_{}, found_{};  // steps
  bool sound_ = true;
  int starts_ = 0;
  std::string told_{};
};

// An emptyDir is its pod's: it outlives containers and sandboxes, and no pod. A hostPath outlives
// both, what lies elsewhere nothing.
TEST(VolumeProperties, FilesLiveAsLongAsWhatTheyBelongTo) {
  holds(
      [] {
        const Place place =
            *gen::element(Place::disk, Place::disk, Place::memory, Place::host, Place::container)
                 .as("checkpoint in");
        const auto blows = *gen::resize(6, gen::vector_of(any_blow())).as("blows");
        Worker worker(*gen::inRange<std::uint64_t>(1, 1'000'000).as("seed"), place);
        for (const Blow& blow : blows) worker.strike(blow);
        const int before = worker.starts();
        worker.rest(400s);  // the longest back-off, and some more
        worker.strike({Blow::Kind::sandbox, 400});
        RC_LOG() << worker.told();
        RC_ASSERT(worker.sound());
        RC_ASSERT(worker.starts() > before);
      },
      world_cost);
}

// --- sizes ---

struct Sizes {
  bool in_memory = true;
  int limit = 0, pod = 0;           // KiB; 0: not written
  std::vector<int> containers{};    // their limits
  std::vector<int> initialising{};  // ...; below 0: of a sidecar that has the opposite
};

void showValue(const Sizes& sizes, std::ostream& out) {
  out << (sizes.in_memory ? "in memory" : "on disk") << ", limit " << sizes.limit << ", pod "
      << sizes.pod << ", containers";
  for (const int one : sizes.containers) out << " " << one;
  out << ", before them";
  for (const int one : sizes.initialising) out << " " << one;
}

Sizes any_sizes() {
  const auto size = gen::weightedOneOf<int>({{1, gen::just(0)}, {4, gen::inRange(1, 100)}});
  Sizes sizes;
  sizes.in_memory = *gen::weightedElement<bool>({{4, true}, {1, false}});
  sizes.limit = *size;
  sizes.pod = *gen::weightedOneOf<int>({{3, gen::just(0)}, {1, size}});
  for (int n = *gen::inRange(1, 4); n > 0; --n) sizes.containers.push_back(*size);
  for (int n = *gen::inRange(0, 3); n > 0; --n)
    sizes.initialising.push_back(*size * *gen::element(1, -1));
  return sizes;
}

Container limited(int kib) {
  Container container;
  if (kib != 0)
    container.resources.limits.edit()["memory"] = Quantity::of(std::int64_t{1024} * kib);
  return container;
}

std::shared_ptr<Pod> pod_of(const Sizes& sizes) {
  auto pod = std::make_shared<Pod>();
  PodSpec& spec = pod->spec.edit();
  Volume volume;
  volume.name = "v";
  if (sizes.in_memory) volume.emptyDir.edit().medium = "Memory";
  volume.emptyDir.edit().sizeLimit = Quantity::of(std::int64_t{1024} * sizes.limit);
  spec.volumes.edit().push_back(volume);
  for (const int one : sizes.containers) spec.containers.edit().push_back(limited(one));
  for (const int one : sizes.initialising) {
    spec.initContainers.edit().push_back(limited(std::abs(one)));
    if (one < 0) spec.initContainers.edit().back().restartPolicy = "Always";
  }
  if (sizes.pod != 0) spec.resources.edit().limits = limited(sizes.pod).resources.limits;
  return pod;
}

// What all containers of the pod may have at any one time; nothing where one has no limit.
std::optional<int> together(const Sizes& sizes) {
  if (sizes.pod != 0) return sizes.pod;
  int sidecars = 0, most = 0, sum = 0;
  for (const int one : sizes.initialising) {
    if (one == 0) return std::nullopt;
    most = std::max(most, sidecars + std::abs(one));
    if (one < 0) sidecars -= one;
  }
  for (const int one : sizes.containers) {
    if (one == 0) return std::nullopt;
    sum += one;
  }
  return std::max(most, sidecars + sum);
}

// A volume in memory is as large as it may be, and no larger than its pod: its content is the pod's
// memory. On disk its pod's memory is nothing to it.
TEST(VolumeProperties, AVolumeInMemoryIsNoLargerThanItsPod) {
  holds([] {
    const auto drawn = gen::resize(rc::kNominalSize, gen::exec(any_sizes));
    const Sizes sizes = *drawn.as("sizes");
    kubelet::PodContext context;
    context.pod = pod_of(sizes);
    const auto source = kubelet::volume(context, context.pod->spec->volumes.front());
    RC_ASSERT(source.has_value());
    std::optional<int> most = sizes.in_memory ? together(sizes) : std::nullopt;
    if (sizes.limit != 0) most = std::min(most.value_or(sizes.limit), sizes.limit);
    RC_ASSERT((*source)->kind ==
              (sizes.in_memory ? VolumeSource::Kind::memory : VolumeSource::Kind::empty_dir));
    RC_ASSERT((*source)->size_limit.has_value() == most.has_value());
    if (most) RC_ASSERT(*(*source)->size_limit == std::int64_t{1024} * *most);
  });
}

// --- what is mounted of a ConfigMap or a Secret ---

// Sees the files that a kubelet puts into volumes of running pods.
class Seen final : public ScriptRuntime {
 public:
  using ScriptRuntime::ScriptRuntime;
  void update_volume(const std::string&, std::shared_ptr<const VolumeSource> source) override {
    last = std::move(source);
  }
  std::shared_ptr<const VolumeSource> last{};
};

// default/p, whose container sees the volume at /v.
std::shared_ptr<Pod> pod_that_mounts(Volume volume) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  pod->metadata.namespace_ = "default";
  pod->metadata.labels.edit()["team"] = "vision";
  PodSpec& spec = pod->spec.edit();
  spec.nodeName = node;
  Container container;
  container.name = "c";
  container.image = "busybox";
  container.volumeMounts = {{.name = "v", .mountPath = "/v"}};
  spec.containers = {std::move(container)};
  volume.name = "v";
  spec.volumes = {std::move(volume)};
  return pod;
}

// A change reaches the files at the next look of the kubelet, once a minute.
TEST(VolumeProperties, WhatIsMountedFollowsItsSource) {
  holds(
      [] {
        const bool secret = *gen::arbitrary<bool>().as("of a Secret");
        const bool projected = *gen::arbitrary<bool>().as("projected");
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        VirtualLoop loop(Random(seed).split("loop"), virtual_start);
        Seen runtime(loop);
        World world(loop, options_of(seed), &runtime);
        RC_ASSERT(world.start().has_value());
        const auto put = [&](const std::string& name, const std::string& value) {
          std::shared_ptr<Object> object;
          if (secret) {
            auto made = std::make_shared<Secret>();
            made->stringData = StringMap{{"k", value}};
            object = made;
          } else {
            auto made = std::make_shared<ConfigMap>();
            made->data = StringMap{{"k", value}};
            object = made;
          }
          object->metadata.name = name;
          object->metadata.namespace_ = "default";
          const bool there = world.find(object->kind(), "default", name) != nullptr;
          RC_ASSERT(
              world.call(there ? api::update(object) : api::create(object), "user").has_value());
        };
        put("source", "1");
        put("another", "1");
        Volume volume;
        if (projected)
          volume.projected.emplace().sources.emplace_back(
              boost::json::parse(secret ? R"({"secret": {"name": "source"}})"
                                        : R"({"configMap": {"name": "source"}})"));
        else if (secret)
          volume.secret.emplace().secretName = "source";
        else
          volume.configMap.emplace().name = "source";
        const auto pod = pod_that_mounts(std::move(volume));
        RC_ASSERT(world.call(api::create(pod), "user").has_value());
        loop.run_until(loop.now() + 20s);
        const auto there = as<Pod>(world.find(Pod::info(), "default", "p"));
        RC_ASSERT(there->status.phase == "Running");
        put("another", "2");
        loop.run_until(loop.now() + 2min);
        if (runtime.last) RC_ASSERT(runtime.last->files.at("k").content == "1");
        put("source", "2");
        loop.run_until(loop.now() + 65s);
        RC_ASSERT(static_cast<bool>(runtime.last));
        RC_ASSERT(runtime.last->name == "v");
        RC_ASSERT(runtime.last->files.at("k").content == "2");
      },
      world_cost);
}

// Labels and annotations of the pod itself come with it, and wait for no look.
TEST(VolumeProperties, WhatAPodSaysOfItselfFollowsItsLabelsAndAnnotations) {
  holds(
      [] {
        const bool projected = *gen::arbitrary<bool>().as("projected");
        const auto* field = *gen::element("labels", "annotations").as("field");
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        VirtualLoop loop(Random(seed).split("loop"), virtual_start);
        Seen runtime(loop);
        World world(loop, options_of(seed), &runtime);
        RC_ASSERT(world.start().has_value());
        DownwardAPIVolume shown;
        DownwardAPIFile& file = shown.items.emplace_back();
        file.path = "k";
        file.fieldRef.emplace().fieldPath = fmt::format("metadata.{}", field);
        Volume volume;
        if (projected)
          volume.projected.emplace().sources.emplace_back(
              boost::json::object{{"downwardAPI", to_json(shown)}});
        else
          volume.downwardAPI = shown;
        const auto pod = pod_that_mounts(std::move(volume));
        RC_ASSERT(world.call(api::create(pod), "user").has_value());
        loop.run_until(loop.now() + 20s);
        for (int round = *gen::inRange(1, 4).as("rounds"); round > 0; --round) {
          const auto there = world.find(Pod::info(), "default", "p");
          const boost::json::object said{{"round", std::to_string(round)}};
          RC_ASSERT(world
                        .call(api::patch(*there, api::PatchType::merge,
                                         boost::json::object{{"metadata", {{field, said}}}}),
                              "user")
                        .has_value());
          loop.run_until(loop.now() + 1s);
          RC_ASSERT(static_cast<bool>(runtime.last));
          RC_ASSERT(runtime.last->files.at("k").content.find(fmt::format("round=\"{}\"", round)) !=
                    std::string::npos);
        }
      },
      world_cost);
}

}  // namespace
}  // namespace ddptwin::property::volume_properties_test
