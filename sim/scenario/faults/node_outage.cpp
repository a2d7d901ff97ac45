#include "scenario/faults/node_outage.hpp"

#include <algorithm>

#include "objects/core_v1.hpp"
#include "objects/node_state.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/systems/actors.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view unreachable = "node.kubernetes.io/unreachable";
constexpr std::string_view silent_reason = "NodeStatusUnknown";
constexpr std::string_view silent_message = "Kubelet stopped posting node status.";

constexpr Duration until_unknown = std::chrono::seconds(50);  // node-monitor-grace-period of 1.36

template <class T>
std::shared_ptr<T> copy_of(const ObjectPtr& object) {
  return std::static_pointer_cast<T>(object->clone());
}

}  // namespace

NodeOutage::NodeOutage(World& world, Lane lane, std::string node)
    : world_(world), lane_(lane), node_(std::move(node)) {
  for (const auto& pod : pods())
    if (!pod->status.rest->podIP.empty()) addresses_.push_back(pod->status.rest->podIP.str());
  unknown_ = world_.loop().after(lane_, until_unknown, [this] { unknown(); });
}

// PodGC does the rest.
void NodeOutage::remove_node() {
  deleted_ = true;
  unknown_.cancel();
  if (const ObjectPtr object = world_.find(Node::info(), "", node_))
    static_cast<void>(world_.call(api::remove(*object), "user"));
}

std::vector<std::shared_ptr<const Pod>> NodeOutage::pods() const {
  std::vector<std::shared_ptr<const Pod>> found;
  for (const ObjectPtr& object : world_.objects(Pod::info(), "")) {
    auto pod = as<Pod>(object);
    if (pod->spec->nodeName == node_) found.push_back(std::move(pod));
  }
  return found;
}

// With no node left that is Ready nobody is evicted: then it is the control plane that is cut off.
bool NodeOutage::others_ready() const {
  const auto nodes = world_.objects(Node::info(), "");
  return std::any_of(nodes.begin(), nodes.end(), [this](const ObjectPtr& object) {
    return object->metadata.name != node_ && is_ready(*as<Node>(*object));
  });
}

// Whether silent nodes lose their pods. Upstream's full disruption, with no node left that is
// Ready, ends the evictions that had begun too; the first node that is back ends the disruption.
void NodeOutage::taint_the_silent(bool evict) const {
  for (const ObjectPtr& object : world_.objects(Node::info(), "")) {
    const auto node = as<Node>(object);
    const auto& taints = node->spec.taints;
    const bool evicts = std::any_of(taints.begin(), taints.end(), [](const Taint& taint) {
      return taint.key == unreachable && taint.effect == "NoExecute";
    });
    const bool silent = std::any_of(taints.begin(), taints.end(),
                                    [](const Taint& taint) { return taint.key == unreachable; });
    if (!silent || evicts == evict) continue;
    const ContextScope of_this_node(world_.loop());
    auto changed = copy_of<Node>(object);
    std::erase_if(changed->spec.taints, [](const Taint& taint) {
      return taint.key == unreachable && taint.effect == "NoExecute";
    });
    if (evict)
      changed->spec.taints.push_back(
          {std::string(unreachable), {}, "NoExecute", world_.loop().now()});
    static_cast<void>(world_.call(api::update(changed), manager_actor));
  }
}

void NodeOutage::unknown() {
  mark_node();
  mark_pods();
}

void NodeOutage::mark_node() {
  const ObjectPtr object = world_.find(Node::info(), "", node_);
  if (!object) return;
  const Time now = world_.loop().now();
  auto tainted = copy_of<Node>(object);
  tainted->spec.taints.push_back({std::string(unreachable), {}, "NoSchedule", now});
  const bool evict = others_ready();
  if (evict) tainted->spec.taints.push_back({std::string(unreachable), {}, "NoExecute", now});
  const auto written = world_.call(api::update(tainted), manager_actor);
  if (!written) return;
  auto silent = copy_of<Node>(written->object);
  for (Condition& condition : silent->status.conditions.edit()) {
    condition.status = "Unknown";
    condition.reason = silent_reason;
    condition.message = silent_message;
    condition.lastTransitionTime = now;
  }
  static_cast<void>(world_.call(api::update(silent, "status"), manager_actor));
  if (!evict) taint_the_silent(false);
}

void NodeOutage::mark_pods() {
  for (const auto& pod : pods()) {
    if (is_terminal_phase(pod->status.phase)) continue;
    const ContextScope of_this_pod(world_.loop());
    auto unready = copy_of<Pod>(pod);
    bool changed = false;
    for (PodCondition& condition : unready->status.conditions.edit()) {
      if (condition.type_ != "Ready" || condition.status != "True") continue;
      condition.status = "False";
      condition.lastTransitionTime = world_.loop().now().floor_seconds();
      changed = true;
    }
    if (changed) static_cast<void>(world_.call(api::update(unready, "status"), manager_actor));
  }
}

void NodeOutage::return_back() {
  unknown_.cancel();
  if (deleted_) {
    for (const NodeOptions& options : world_.options().nodes)
      if (options.name == node_) static_cast<void>(world_.add_node(options));
    return;
  }
  if (const ObjectPtr object = world_.find(Node::info(), "", node_)) {
    const Time now = world_.loop().now();
    auto clean = copy_of<Node>(object);
    std::erase_if(clean->spec.taints, [](const Taint& taint) { return taint.key == unreachable; });
    const auto written = world_.call(api::update(clean), manager_actor);
    auto ready = copy_of<Node>(written ? written->object : object);
    for (Condition& condition : ready->status.conditions.edit()) {
      for (const NodeConditionRow& words : healthy_node_conditions()) {
        if (condition.type_ != words.type || condition.status == words.status) continue;
        condition.status = words.status;
        condition.reason = words.reason;
        condition.message = words.message;
        condition.lastTransitionTime = now;
      }
    }
    static_cast<void>(world_.call(api::update(ready, "status"), "kubelet"));
    taint_the_silent(true);
  }
}

}  // namespace ddptwin::scenario
