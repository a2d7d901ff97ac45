// A StatefulSet in a cluster of two nodes to which anything happens: one pod an ordinal, the order
// of creation and of scaling in, claims that stay, and what it comes to once nothing happens any
// more (spec/kubernetes.md §4).
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/apps_v1.hpp"
#include "property.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/faults/injector.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property::statefulset_properties_test {
namespace {

namespace json = boost::json;

constexpr int world_cost = 4;
constexpr int replicas_max = 5;
// Back-offs of containers that ended go up to five minutes.
constexpr Duration afterwards = 10min;

struct Shape {
  int replicas = 0;
  int start = 0;
  bool ordered = true;
  int partition = 0;
  int ready_after = 0;  // seconds from its start until a pod is Ready
  bool has_claims = false;
  bool deletes_scaled = false;  // whenScaled: Delete
};
void showValue(const Shape& shape, std::ostream& out) {
  out << (shape.ordered ? "OrderedReady" : "Parallel") << " of " << shape.replicas << " from "
      << shape.start << ", partition " << shape.partition << ", Ready after " << shape.ready_after
      << " s" << (shape.has_claims ? ", with claims" : "")
      << (shape.deletes_scaled ? " that go when it is scaled in" : "");
}

struct Happening {
  enum class Kind : std::uint8_t {
    scale,      // to `number`
    template_,  // another revision
    remove,     // a pod, with `number` seconds of grace
    exit,       // of its container
    lose,       // its sandbox
    crash,      // of the controller, which comes back after `number` seconds
    kubelets,   // begin anew
    rest,
  };
  Kind kind = Kind::rest;
  int pod = 0;
  int number = 0;
  int seconds = 0;  // afterwards
};
void showValue(const Happening& one, std::ostream& out) {
  constexpr std::array names{"scale to", "template", "delete",   "exit",
                             "lose",     "crash",    "kubelets", "rest"};
  out << names[static_cast<std::size_t>(one.kind)] << " pod " << one.pod << " number " << one.number
      << ", then " << one.seconds << " s";
}

using Kind = Happening::Kind;

rc::Gen<Happening> any_happening(std::vector<Kind> kinds) {
  return gen::build<Happening>(
      gen::set(&Happening::kind, gen::elementOf(std::move(kinds))),
      gen::set(&Happening::pod, gen::resize(rc::kNominalSize, gen::inRange(0, replicas_max))),
      gen::set(&Happening::number, gen::resize(rc::kNominalSize, gen::inRange(0, replicas_max))),
      gen::set(&Happening::seconds, gen::element(0, 1, 2, 5, 20, 60)));
}

rc::Gen<Shape> any_shape() {
  return gen::build<Shape>(
      gen::set(&Shape::replicas, gen::resize(rc::kNominalSize, gen::inRange(0, replicas_max))),
      gen::set(&Shape::start, gen::element(0, 0, 3)), gen::set(&Shape::ordered),
      gen::set(&Shape::partition, gen::element(0, 0, 0, 2)),
      gen::set(&Shape::ready_after, gen::element(0, 1, 4)), gen::set(&Shape::has_claims),
      gen::set(&Shape::deletes_scaled));
}

std::shared_ptr<StatefulSet> set_of(const Shape& shape) {
  auto set = std::make_shared<StatefulSet>();
  set->metadata.namespace_ = "default";
  set->metadata.name = "s";
  StatefulSetSpec& spec = set->spec.edit();
  spec.replicas = shape.replicas;
  spec.serviceName = "s";
  spec.podManagementPolicy = shape.ordered ? "OrderedReady" : "Parallel";
  LabelSelector& selector = spec.selector.emplace();
  selector.matchLabels["app"] = "s";
  spec.template_.metadata.labels.edit()["app"] = "s";
  PodSpec& pod = spec.template_.spec.edit();
  pod.terminationGracePeriodSeconds = 2;
  Container container;
  container.name = "c";
  container.image = "busybox";
  if (shape.ready_after > 0) {
    // Ready when its probe first succeeds, which the scripts let it do at once.
    Probe probe;
    probe.exec.emplace().command = {"true"};
    probe.initialDelaySeconds = shape.ready_after;
    probe.periodSeconds = 1;
    container.readinessProbe = probe;
  }
  pod.containers.edit().push_back(std::move(container));
  if (shape.start > 0) spec.ordinals = StatefulSetOrdinals{shape.start};
  spec.updateStrategy.type_ = "RollingUpdate";
  spec.updateStrategy.rollingUpdate.emplace().partition = shape.partition;
  if (shape.has_claims) {
    ClaimTemplate& claim = spec.volumeClaimTemplates.emplace_back();
    claim.metadata.name = "data";
    claim.spec.accessModes = {"ReadWriteOnce"};
    claim.spec.resources.requests.edit().emplace("storage", *Quantity::parse("1Gi"));
    spec.persistentVolumeClaimRetentionPolicy =
        ClaimRetentionPolicy{"Retain", shape.deletes_scaled ? "Delete" : "Retain"};
  }
  return set;
}

bool is_ready(const Pod& pod) {
  const PodCondition* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

int ordinal_of(const ObjectMeta& metadata) {
  const std::string_view name = metadata.name.view();
  return std::atoi(std::string(name.substr(name.rfind('-') + 1)).c_str());
}

// The set's controller, and what is known of its pods by the trace.
class SetRun {
 public:
  SetRun(std::uint64_t seed, const Shape& shape)
      : shape_(shape),
        loop_(Random(seed).split("loop"), virtual_start),
        runtime_(loop_),
        world_(loop_, options_of(seed), &runtime_) {
    world_.trace().add_sink([this](const Record& record) { on_record(record); });
    DDPTWIN_ASSERT(world_.start().has_value());
    rest(1s);
    DDPTWIN_ASSERT(world_.call(api::create(set_of(shape)), "user").has_value());
  }

  void apply(const Happening& one) {
    switch (one.kind) {
      case Kind::scale:
        patch(json::object{{"spec", {{"replicas", one.number}}}});
        break;
      case Kind::template_: {
        const json::object round{{"round", std::to_string(one.number)}};
        patch(json::object{{"spec", {{"template", {{"metadata", {{"annotations", round}}}}}}}});
        break;
      }
      case Kind::remove:
        if (const auto pod = pod_at(one.pod))
          (void)world_.call(api::remove(*pod, {.grace_period_seconds = 1 + one.number}), "user");
        break;
      case Kind::exit:
        if (const auto pod = pod_at(one.pod))
          runtime_.container_exit("default", pod->metadata.name.str(), "c", one.number);
        break;
      case Kind::lose:
        if (const auto pod = pod_at(one.pod))
          runtime_.sandbox_dies("default", pod->metadata.name.str());
        break;
      case Kind::crash:
        (void)world_.crash_controller("statefulset-controller");
        rest(std::chrono::seconds(one.number));
        (void)world_.start_controller("statefulset-controller");
        break;
      case Kind::kubelets:
        world_.restart_kubelets();
        break;
      case Kind::rest:
        break;
    }
    rest(std::chrono::seconds(one.seconds));
  }
  // Safe at every moment, and in the end as it should be.
  void live_through(const std::vector<Happening>& events) {
    for (const Happening& one : events) {
      apply(one);
      require_safe();
    }
    come_to_rest();
    require_safe();
    require_settled();
  }
  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }
  // Upstream waits for a stale claim to go and then hears nothing of it: somebody has to look at
  // the set again (spec/kubernetes.md §4).
  void come_to_rest() {
    for (int looks = 0; looks < 3; ++looks) {
      rest(afterwards);
      if (shape_.has_claims && shape_.deletes_scaled)
        patch(json::object{{"metadata", {{"annotations", {{"look", std::to_string(looks)}}}}}});
    }
    rest(afterwards);
  }

  std::shared_ptr<const StatefulSet> set() {
    return as<StatefulSet>(world_.find(StatefulSet::info(), "default", "s"));
  }
  std::map<int, std::shared_ptr<const Pod>> pods() const {
    std::map<int, std::shared_ptr<const Pod>> found;
    for (const ObjectPtr& pod : world_.objects(Pod::info(), "default"))
      found[ordinal_of(pod->metadata)] = as<Pod>(pod);
    return found;
  }
  std::set<int> claims() const {
    std::set<int> found;
    for (const ObjectPtr& claim : world_.objects(PersistentVolumeClaim::info(), "default"))
      found.insert(ordinal_of(claim->metadata));
    return found;
  }
  void require_safe() const {
    if (!violations_.empty()) RC_FAIL(violations_.front());
  }
  // While nothing but the set's own growth goes on, its order is strict.
  void be_strict() { strict_ = true; }

  void require_settled() {
    const auto now = set();
    const auto there = pods();
    const int wanted = now->spec->replicas.value_or(1);
    RC_ASSERT(static_cast<int>(there.size()) == wanted);
    const int kept = shape_.start + shape_.partition;  // it counts pods, not ordinals
    for (const auto& [ordinal, pod] : there) {
      RC_ASSERT(ordinal >= shape_.start && ordinal < shape_.start + wanted);
      RC_ASSERT(is_ready(*pod));
      RC_ASSERT(pod->metadata.label("statefulset.kubernetes.io/pod-name")->view() ==
                pod->metadata.name.view());
      if (ordinal >= kept)
        RC_ASSERT(pod->metadata.label("controller-revision-hash")->view() ==
                  now->status.updateRevision);
    }
    RC_ASSERT(now->status.replicas == wanted);
    RC_ASSERT(now->status.readyReplicas == wanted);
    RC_ASSERT(now->status.observedGeneration == now->metadata.generation);
    if (!shape_.has_claims) return;
    const std::set<int> kept_claims = claims();
    for (const auto& [ordinal, pod] : there) RC_ASSERT(kept_claims.contains(ordinal));
    // Of ordinals that have been and are no more: they stay unless the policy takes them.
    for (const int ordinal : kept_claims)
      if (shape_.deletes_scaled) RC_ASSERT(there.contains(ordinal));
    if (!shape_.deletes_scaled)
      for (const int ordinal : ever_) RC_ASSERT(kept_claims.contains(ordinal));
  }

 private:
  static WorldOptions options_of(std::uint64_t seed) {
    WorldOptions options;
    options.seed = seed;
    options.scheduler = true;
    options.kinds = {&StatefulSet::info()};
    options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                     {.name = "n1", .address = "192.168.0.2"}};
    return options;
  }

  void patch(const Json& body) {
    (void)world_.call(api::patch(*set(), api::PatchType::merge, body), "user");
  }
  std::shared_ptr<const Pod> pod_at(int index) const {
    const auto there = pods();
    if (there.empty()) return nullptr;
    return std::next(there.begin(), index % static_cast<int>(there.size()))->second;
  }
  void violate(std::string text) { violations_.push_back(std::move(text)); }

  void on_record(const Record& record) {
    const ObjectPtr object = record.after ? record.after : record.before;
    const Pod* pod = object ? as<Pod>(*object) : nullptr;
    if (pod == nullptr) return;
    if (record.kind == RecordKind::object_added) on_created(*pod);
    const bool begins_to_end = record.kind == RecordKind::object_modified &&
                               pod->metadata.deletionTimestamp &&
                               !record.before->metadata.deletionTimestamp;
    if (begins_to_end && record.actor == "kube-controller-manager") on_condemned(*pod);
  }

  // Nobody of that name runs any more; under OrderedReady all before it are Ready.
  void on_created(const Pod& pod) {
    const int ordinal = ordinal_of(pod.metadata);
    ever_.insert(ordinal);
    for (const std::string& uid : uids_[ordinal])
      if (!runtime_.running_in(uid).empty())
        violate(fmt::format("{} is made while one of its name runs", pod.metadata.name));
    uids_[ordinal].insert(pod.metadata.uid.str());
    if (!strict_ || !shape_.ordered) return;
    const auto there = pods();
    for (int lower = shape_.start; lower < ordinal; ++lower) {
      const auto found = there.find(lower);
      if (found == there.end() || !is_ready(*found->second))
        violate(fmt::format("{} is made before {} is Ready", pod.metadata.name, lower));
    }
  }

  // What is scaled away goes from the highest ordinal down, under OrderedReady one at a time.
  void on_condemned(const Pod& pod) {
    const auto now = set();
    const int ordinal = ordinal_of(pod.metadata);
    const bool is_scaled_away = ordinal >= shape_.start + now->spec->replicas.value_or(1);
    if (!strict_ || !shape_.ordered || !is_scaled_away) return;
    for (const auto& [other, found] : pods())
      if (other > ordinal) violate(fmt::format("{} goes before {}", pod.metadata.name, other));
  }

  Shape shape_;
  VirtualLoop loop_;
  ScriptRuntime runtime_;
  World world_;
  bool strict_ = false;
  std::map<int, std::set<std::string>> uids_{};  // by ordinal
  std::set<int> ever_{};                         // ordinals that have had a pod
  std::vector<std::string> violations_{};
};

TEST(StatefulSetProperties, OnePodAnOrdinalWhateverHappensAndAllOfItAfterwards) {
  holds(
      [](std::uint64_t seed) {
        const Shape shape = *any_shape().as("set");
        const auto events =
            *gen::resize(12, gen::vector_of(any_happening(
                                 {Kind::scale, Kind::template_, Kind::remove, Kind::exit,
                                  Kind::lose, Kind::crash, Kind::kubelets, Kind::rest})))
                 .as("events");
        SetRun run(seed, shape);
        run.live_through(events);
      },
      world_cost);
}

TEST(StatefulSetProperties, GrowsFromTheBottomAndShrinksFromTheTop) {
  holds(
      [](std::uint64_t seed) {
        const Shape shape = *any_shape().as("set");
        const auto events =
            *gen::resize(8, gen::vector_of(any_happening({Kind::scale, Kind::scale, Kind::crash,
                                                          Kind::kubelets, Kind::rest})))
                 .as("events");
        SetRun run(seed, shape);
        run.be_strict();
        run.live_through(events);
      },
      world_cost);
}

}  // namespace
}  // namespace ddptwin::property::statefulset_properties_test
