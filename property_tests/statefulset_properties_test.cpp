// A StatefulSet in a cluster of two nodes to which anything happens: one pod an ordinal, the order
// of creation and of scaling in, claims that stay, and what it comes to once nothing happens any
// more (spec/kubernetes.md §4).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "objects/apps_v1.hpp"
#include "property.hpp"
#include "workload_run.hpp"

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

using Kind = Happening::Kind;

Json scaled(const Object&, int number) { return json::object{{"spec", {{"replicas", number}}}}; }
Json of_another_revision(const Object&, int number) {
  const json::object round{{"round", std::to_string(number)}};
  return json::object{{"spec", {{"template", {{"metadata", {{"annotations", round}}}}}}}};
}
constexpr UserEdit scale{"scale", &scaled}, new_template{"template", &of_another_revision};
constexpr std::array numbers{0, 1, 2, 3, 4};
constexpr std::array all_edits{&scale, &new_template}, scaling{&scale, &scale};
constexpr WorkloadRow set_row{&StatefulSet::info, "statefulset-controller", all_edits, replicas_max,
                              numbers};
constexpr WorkloadRow scaled_row{&StatefulSet::info, "statefulset-controller", scaling,
                                 replicas_max, numbers};

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
class SetRun final : public WorkloadRun {
 public:
  SetRun(std::uint64_t seed, const Shape& shape, const WorkloadRow& row)
      : WorkloadRun(seed, row, set_of(shape)), shape_(shape) {}

  // While nothing but the set's own growth goes on, its order is strict.
  void be_strict() { strict_ = true; }

 private:
  // Upstream waits for a stale claim to go and then hears nothing of it: somebody has to look at
  // the set again (spec/kubernetes.md §4).
  void come_to_rest() override {
    for (int looks = 0; looks < 3; ++looks) {
      rest(afterwards);
      if (shape_.has_claims && shape_.deletes_scaled)
        patch(json::object{{"metadata", {{"annotations", {{"look", std::to_string(looks)}}}}}});
    }
    rest(afterwards);
  }

  std::shared_ptr<const StatefulSet> set() const { return object_as<StatefulSet>(); }
  std::map<int, std::shared_ptr<const Pod>> by_ordinal() const {
    std::map<int, std::shared_ptr<const Pod>> found;
    for (const auto& pod : pods()) found[ordinal_of(pod->metadata)] = pod;
    return found;
  }
  std::set<int> claims() const {
    std::set<int> found;
    for (const ObjectPtr& claim : world().objects(PersistentVolumeClaim::info(), "default"))
      found.insert(ordinal_of(claim->metadata));
    return found;
  }
  void require_settled() override {
    const auto now = set();
    const auto there = by_ordinal();
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
    // Of ordinals that have been and are no more: they stay unless the policy takes them. It takes
    // those of pods that are scaled away: where there was none just then, nobody hands its claim
    // on.
    for (const int ordinal : kept_claims)
      if (shape_.deletes_scaled)
        RC_ASSERT(there.contains(ordinal) || !condemned_.contains(ordinal));
    if (!shape_.deletes_scaled)
      for (const int ordinal : ever_) RC_ASSERT(kept_claims.contains(ordinal));
  }

  void on_pod(const Record& record, const Pod& pod) override {
    if (record.kind == RecordKind::object_added) on_created(pod);
    const bool begins_to_end = record.kind == RecordKind::object_modified &&
                               pod.metadata.deletionTimestamp &&
                               !record.before->metadata.deletionTimestamp;
    if (begins_to_end && record.actor == "kube-controller-manager") on_condemned(pod);
  }

  // Nobody of that name runs any more; under OrderedReady all before it are Ready.
  void on_created(const Pod& pod) {
    const int ordinal = ordinal_of(pod.metadata);
    ever_.insert(ordinal);
    condemned_.erase(ordinal);
    for (const std::string& uid : uids_[ordinal])
      if (!runtime().running_in(uid).empty())
        violate(fmt::format("{} is made while one of its name runs", pod.metadata.name));
    uids_[ordinal].insert(pod.metadata.uid.str());
    if (!strict_ || !shape_.ordered) return;
    const auto there = by_ordinal();
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
    if (is_scaled_away) condemned_.insert(ordinal);
    if (!strict_ || !shape_.ordered || !is_scaled_away) return;
    for (const auto& [other, found] : by_ordinal())
      if (other > ordinal) violate(fmt::format("{} goes before {}", pod.metadata.name, other));
  }

  Shape shape_;
  bool strict_ = false;
  std::map<int, std::set<std::string>> uids_{};  // by ordinal
  std::set<int> ever_{};                         // ordinals that have had a pod
  std::set<int> condemned_{};                    // and lost their last one to a smaller set
};

TEST(StatefulSetProperties, OnePodAnOrdinalWhateverHappensAndAllOfItAfterwards) {
  holds(
      [](std::uint64_t seed) {
        const Shape shape = *any_shape().as("set");
        const auto events = *any_happenings(set_row,
                                            {Kind::edit, Kind::remove, Kind::exit, Kind::lose,
                                             Kind::crash, Kind::kubelets, Kind::rest},
                                            12)
                                 .as("events");
        SetRun run(seed, shape, set_row);
        run.live_through(events);
      },
      world_cost);
}

TEST(StatefulSetProperties, GrowsFromTheBottomAndShrinksFromTheTop) {
  holds(
      [](std::uint64_t seed) {
        const Shape shape = *any_shape().as("set");
        const auto events =
            *any_happenings(scaled_row, {Kind::edit, Kind::crash, Kind::kubelets, Kind::rest}, 8)
                 .as("events");
        SetRun run(seed, shape, scaled_row);
        run.be_strict();
        run.live_through(events);
      },
      world_cost);
}

}  // namespace
}  // namespace ddptwin::property::statefulset_properties_test
