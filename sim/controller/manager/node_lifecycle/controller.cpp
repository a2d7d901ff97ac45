#include "controller/manager/node_lifecycle/controller.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/pods/disruption.hpp"

namespace ddptwin {

using node_lifecycle::EvictionQueue;
using node_lifecycle::ZoneCount;
using node_lifecycle::ZoneState;

namespace {

constexpr std::string_view component = "node-controller";
constexpr Duration monitor_period = std::chrono::seconds(5);  // --node-monitor-period
constexpr Duration grace_period = std::chrono::seconds(50);   // --node-monitor-grace-period
// The NoExecute taints of a look are put by a loop of its own.
constexpr Duration eviction_period = std::chrono::milliseconds(100);
constexpr int update_tries = 5;
constexpr Duration retry_delay = std::chrono::milliseconds(20);

constexpr const char* ttl_annotation = "node.alpha.kubernetes.io/ttl";
constexpr const char* ttl_of_small_clusters = "0";  // up to a hundred nodes

std::shared_ptr<const Node> node_of(const ObjectPtr& object) {
  return std::static_pointer_cast<const Node>(object);
}
std::shared_ptr<Node> copy_of(const Node& node) {
  return std::static_pointer_cast<Node>(node.clone());
}

bool add_ttl(Node& node) {
  if (node.metadata.annotations->contains(ttl_annotation)) return false;
  node.metadata.annotations.edit()[ttl_annotation] = ttl_of_small_clusters;
  return true;
}

// What NoExecute taint it has is not the one that it should have.
bool is_tainted_otherwise(const Node& node) {
  const std::string_view wanted =
      node_lifecycle::no_execute_key(node_lifecycle::readiness_of(node));
  const auto differs = [&](std::string_view key) {
    return node_lifecycle::has_no_execute(node, key) != (wanted == key);
  };
  return differs(node_lifecycle::not_ready_taint) || differs(node_lifecycle::unreachable_taint);
}

}  // namespace

struct NodeLifecycle::Look {
  struct Seen {
    std::string node{};
    std::string zone{};
    Readiness readiness = Readiness::ready;
  };
  std::vector<Seen> seen{};
  int writing = 1;  // the look itself is one until it has begun all others
};

NodeLifecycle::NodeLifecycle(Loop& loop, api::ApiClient& client, api::SharedInformers& informers,
                             NodeHeartbeats& heartbeats)
    : loop_(loop),
      client_(client),
      lane_(loop.new_lane()),
      heartbeats_(heartbeats),
      part_(client, informers),
      pods_(part_.hear(Pod::info(), [](const ObjectPtr&, const ObjectPtr&) {})),
      nodes_(part_.hear(Node::info(), [this](const ObjectPtr& before, const ObjectPtr& after) {
        on_node(before, after);
      })) {
  heartbeats_.listen([this](const std::string& node) {
    if (!running()) return;
    why_[node] = loop_.context();
    if (const auto due = due_of(node)) want_look(*due);
  });
}

NodeLifecycle::~NodeLifecycle() { heartbeats_.listen({}); }

void NodeLifecycle::start() {
  recorder_ = std::make_unique<api::EventRecorder>(loop_, client_, std::string(component));
  started_ = reset_ = loop_.now();
  part_.begin();
}

void NodeLifecycle::crash() {
  part_.end();
  recorder_.reset();
  known_.clear();
  gone_.clear();
  why_.clear();
  zones_.clear();
  retry_pods_.clear();
  retries_.clear();
  all_lost_ = false;
  last_look_.reset();
  next_look_at_.reset();
  next_look_.cancel();
  next_pass_.cancel();
}

std::vector<std::string> NodeLifecycle::remembered() const {
  std::vector<std::string> names(known_.begin(), known_.end());
  names.insert(names.end(), retry_pods_.begin(), retry_pods_.end());
  for (const ObjectPtr& node : gone_) names.push_back(node->metadata.name.str());
  for (const auto& [name, context] : why_) names.push_back(name);
  for (const auto& [zone, queue] : zones_)
    for (const std::string& name : queue.nodes()) names.push_back(name);
  // What is tried again is told before the node's name.
  for (const auto& [what, timer] : retries_) names.push_back(what.substr(what.find(' ') + 1));
  return names;
}

// ---- what is heard -----------------------------------------------------------------------------

void NodeLifecycle::on_node(const ObjectPtr& before, const ObjectPtr& after) {
  const std::string name = (after != nullptr ? after : before)->metadata.name.str();
  if (after == nullptr) {
    gone_.push_back(before);
    why_[name] = loop_.context();
    return want_look(loop_.now());
  }
  const auto node = node_of(after);
  const bool changed =
      before == nullptr || node_lifecycle::readiness_of(*node) !=
                               node_lifecycle::readiness_of(static_cast<const Node&>(*before));
  if (changed) why_[name] = loop_.context();
  mirror(*node);
  if (changed || !known_.contains(name)) want_look(loop_.now());
  if (before == nullptr)
    if (const auto due = due_of(name)) want_look(*due);
}

// A newer state of the node brings it here again; any other failure is tried again.
void NodeLifecycle::mirror(const Node& node) {
  auto changed = copy_of(node);
  const bool taints = node_lifecycle::mirror_no_schedule(*changed, loop_.now());
  const bool labels = node_lifecycle::mirror_labels(*changed);
  const bool ttl = add_ttl(*changed);
  if (!taints && !labels && !ttl) return;
  part_.call(api::update(changed), [this, name = node.metadata.name.str()](const auto& answer) {
    if (answer || answer.error().reason == Reason::conflict ||
        answer.error().reason == Reason::not_found)
      return;
    retries_["mirror " + name] = loop_.after(lane_, retry_delay, [this, name] {
      if (const ObjectPtr now = nodes_.find({}, name)) mirror(*node_of(now));
    });
  });
}

// ---- when it looks -----------------------------------------------------------------------------

// Looks come in steps from the process's begin; that of this moment may be over.
Time NodeLifecycle::look_at_or_after(Time at) const {
  const Duration since = std::max(at, started_) - started_;
  Time look = started_ + (since + monitor_period - Duration(1)) / monitor_period * monitor_period;
  if (last_look_ && look <= *last_look_) look = *last_look_ + monitor_period;
  return look;
}

void NodeLifecycle::want_look(Time at) {
  const Time look_at = look_at_or_after(at);
  if (next_look_at_ && *next_look_at_ <= look_at) return;
  next_look_at_ = look_at;
  next_look_ = loop_.at(lane_, look_at, [this] { look(); });
}

// A look has heard of it for the last time, and the grace period runs from that look.
std::optional<Time> NodeLifecycle::due_of(const std::string& node) const {
  const auto last = heartbeats_.silent_since(node);
  if (!last) return std::nullopt;
  const Duration since = std::max(*last, reset_) - started_;
  const auto looks =
      std::max<std::int64_t>(0, (since + monitor_period - Duration(1)) / monitor_period);
  return started_ + looks * monitor_period + grace_period;
}

void NodeLifecycle::want_next_look() {
  for (const auto& [key, object] : nodes_.objects()) {
    const std::string name = object->metadata.name.str();
    const auto due = due_of(name);
    if (due && !node_lifecycle::is_all_unknown(*node_of(object))) want_look(*due);
  }
  if (!retry_pods_.empty()) want_look(loop_.now());
}

// ---- a look ------------------------------------------------------------------------------------

void NodeLifecycle::look() {
  next_look_at_.reset();
  last_look_ = loop_.now();
  if (!nodes_.synced() || !pods_.synced()) return want_look(loop_.now());
  tell_of_changes();
  const auto look = std::make_shared<Look>();
  std::vector<ObjectPtr> all;
  for (const auto& [key, object] : nodes_.objects()) all.push_back(object);
  for (const ObjectPtr& object : all) {
    const ContextScope of_this_node(loop_, context_of(object->metadata.name.str()));
    judge(look, node_of(object));
  }
  conclude(look);
}

void NodeLifecycle::tell_of_changes() {
  for (const auto& [key, object] : nodes_.objects()) {
    const std::string name = object->metadata.name.str();
    if (!known_.insert(name).second) continue;
    const ContextScope of_this_node(loop_, context_of(name));
    tell(*object, "RegisteredNode",
         fmt::format("Node {0} event: Registered Node {0} in Controller", name));
  }
  for (const ObjectPtr& object : std::exchange(gone_, {})) {
    const std::string name = object->metadata.name.str();
    if (nodes_.find({}, name) != nullptr || known_.erase(name) == 0) continue;
    const ContextScope of_this_node(loop_, context_of(name));
    tell(*object, "RemovingNode",
         fmt::format("Node {0} event: Removing Node {0} from Controller", name));
    for (auto& [zone, queue] : zones_) queue.remove(name);
    why_.erase(name);
  }
}

void NodeLifecycle::judge(const LookPtr& look, const std::shared_ptr<const Node>& node) {
  const std::string name = node->metadata.name.str();
  const auto due = due_of(name);
  if (due && *due <= loop_.now() && !node_lifecycle::is_all_unknown(*node)) {
    ++look->writing;
    return make_unknown({look, node, 0});
  }
  const Readiness readiness = node_lifecycle::readiness_of(*node);
  if (retry_pods_.erase(name) > 0 && readiness != Readiness::ready) mark_pods(name);
  look->seen.push_back({name, node_lifecycle::zone_of(*node), readiness});
  decide_taint(*node, readiness);
}

void NodeLifecycle::make_unknown(const Attempt& attempt) {
  auto silent = copy_of(*attempt.node);
  node_lifecycle::make_unknown(*silent, loop_.now());
  part_.call(api::update(silent, "status"), [this, attempt](const auto& answer) {
    if (!answer) return retry(attempt, answer.error());
    const auto written = node_of(answer->object);
    if (node_lifecycle::readiness_of(*attempt.node) == Readiness::ready)
      became_unknown(*attempt.node);
    attempt.look->seen.push_back({written->metadata.name.str(), node_lifecycle::zone_of(*written),
                                  node_lifecycle::readiness_of(*written)});
    decide_taint(*written, node_lifecycle::readiness_of(*written));
    conclude(attempt.look);
  });
}

// Upon what the node is by then; what fails again and again waits for the next look.
void NodeLifecycle::retry(const Attempt& attempt, const Error& error) {
  const std::string name = attempt.node->metadata.name.str();
  if (error.reason == Reason::not_found) return conclude(attempt.look);
  if (attempt.tries + 1 >= update_tries) {
    attempt.look->seen.push_back({name, node_lifecycle::zone_of(*attempt.node),
                                  node_lifecycle::readiness_of(*attempt.node)});
    want_look(loop_.now());
    return conclude(attempt.look);
  }
  retries_["unknown " + name] = loop_.after(lane_, retry_delay, [this, attempt, name] {
    part_.call(api::get(Node::info(), {}, name), [this, attempt](const auto& answer) {
      Attempt next{attempt.look, answer ? node_of(answer->object) : attempt.node,
                   attempt.tries + 1};
      if (!answer) return retry(next, answer.error());
      if (heartbeats_.silent_since(next.node->metadata.name.str())) return make_unknown(next);
      conclude(next.look);
    });
  });
}

void NodeLifecycle::became_unknown(const Node& before) {
  const std::string name = before.metadata.name.str();
  tell(before, "NodeNotReady", fmt::format("Node {} status is now: NodeNotReady", name));
  mark_pods(name);
}

void NodeLifecycle::mark_pods(const std::string& node) {
  std::vector<ObjectPtr> there;
  for (const auto& [key, object] : pods_.objects())
    if (static_cast<const Pod&>(*object).spec->nodeName == node) there.push_back(object);
  for (const ObjectPtr& pod : there) {
    const ContextScope of_this_pod(loop_);
    mark_pod(static_cast<const Pod&>(*pod));
  }
}

// The condition has no words; ContainersReady stays.
void NodeLifecycle::mark_pod(const Pod& pod) {
  auto unready = std::static_pointer_cast<Pod>(pod.clone());
  bool changed = false;
  for (PodCondition& condition : unready->status.conditions.edit()) {
    if (condition.type_ != "Ready" || condition.status != "True") continue;
    condition.status = "False";
    condition.lastTransitionTime = loop_.now().floor_seconds();
    changed = true;
  }
  if (!changed) return;
  part_.call(api::update(unready, "status"), [this, unready](const auto& answer) {
    if (!answer && answer.error().reason == Reason::not_found) return;
    if (!answer && retry_pods_.insert(unready->spec->nodeName).second) want_look(loop_.now());
    recorder_->event(*unready, "Warning", "NodeNotReady", "Node is not ready");
  });
}

// ---- NoExecute taints --------------------------------------------------------------------------

void NodeLifecycle::decide_taint(const Node& node, Readiness now) {
  const std::string name = node.metadata.name.str();
  const std::string_view key = node_lifecycle::no_execute_key(now);
  EvictionQueue& queue = zones_[node_lifecycle::zone_of(node)];
  const bool has_one = node_lifecycle::has_no_execute(node, node_lifecycle::not_ready_taint) ||
                       node_lifecycle::has_no_execute(node, node_lifecycle::unreachable_taint);
  if (key.empty()) queue.remove(name);
  if (has_one) {
    if (is_tainted_otherwise(node)) swap_no_execute(node, key);
  } else if (!key.empty()) {
    queue.add(name, context_of(name));
  }
}

void NodeLifecycle::swap_no_execute(const Node& node, std::string_view key) {
  auto changed = copy_of(node);
  if (!node_lifecycle::put_no_execute(*changed, key, loop_.now())) return;
  part_.call(api::update(changed), [this](const auto& answer) {
    if (!answer && answer.error().reason != Reason::not_found) want_look(loop_.now());
  });
}

void NodeLifecycle::conclude(const LookPtr& look) {
  if (--look->writing > 0) return;
  judge_zones(*look);
  pass_soon(loop_.now() + eviction_period);
  want_next_look();
}

void NodeLifecycle::judge_zones(const Look& look) {
  std::map<std::string, ZoneCount> counts;
  for (const Look::Seen& one : look.seen)
    ++(one.readiness == Readiness::ready ? counts[one.zone].ready : counts[one.zone].not_ready);
  std::erase_if(zones_, [&counts](const auto& one) { return !counts.contains(one.first); });
  const bool all_lost =
      !counts.empty() && std::all_of(counts.begin(), counts.end(), [](const auto& one) {
        return node_lifecycle::state_of(one.second) == ZoneState::full_disruption;
      });
  if (all_lost_ && !all_lost) reset_ = loop_.now();
  for (const auto& [zone, count] : counts)
    zones_[zone].set_state(node_lifecycle::state_of(count),
                           static_cast<std::size_t>(count.ready + count.not_ready));
  if (all_lost && !all_lost_) release_all();
  if (all_lost)
    for (auto& [zone, queue] : zones_) queue.stop_all();
  all_lost_ = all_lost;
}

// Nobody is evicted, nor goes on to be; each waits again for its turn, which does not come.
void NodeLifecycle::release_all() {
  for (const auto& [key, object] : nodes_.objects()) {
    const auto node = node_of(object);
    const std::string name = node->metadata.name.str();
    const ContextScope of_this_node(loop_);
    swap_no_execute(*node, {});
    EvictionQueue& queue = zones_[node_lifecycle::zone_of(*node)];
    queue.remove(name);
    queue.add(name, context_of(name));
  }
}

void NodeLifecycle::pass() {
  for (auto& [zone, queue] : zones_)
    while (auto entry = queue.take(loop_.now())) taint(zone, std::move(*entry));
  for (const auto& [zone, queue] : zones_)
    if (const auto turn = queue.next_turn(loop_.now())) pass_soon(*turn);
}

void NodeLifecycle::pass_soon(Time at) {
  if (next_pass_.pending() && next_pass_at_ <= at) return;
  next_pass_at_ = at;
  next_pass_ = loop_.at(lane_, at, [this] { pass(); });
}

void NodeLifecycle::taint(const std::string& zone, EvictionQueue::Entry entry) {
  const ObjectPtr object = nodes_.find({}, entry.node);
  if (object == nullptr) return;
  const auto node = node_of(object);
  const std::string_view key = node_lifecycle::no_execute_key(node_lifecycle::readiness_of(*node));
  auto changed = copy_of(*node);
  if (key.empty() || !node_lifecycle::put_no_execute(*changed, key, loop_.now())) return;
  const ContextScope of_this_node(loop_, entry.context);
  part_.call(api::update(changed), [this, zone, entry](const auto& answer) {
    if (answer || answer.error().reason == Reason::not_found) return;
    const auto queue = zones_.find(zone);
    if (queue == zones_.end()) return;
    queue->second.put_back(entry);
    if (const auto turn = queue->second.next_turn(loop_.now())) pass_soon(*turn);
  });
}

std::uint64_t NodeLifecycle::context_of(const std::string& node) const {
  const auto found = why_.find(node);
  return found == why_.end() ? loop_.context() : found->second;
}

void NodeLifecycle::tell(const Object& node, std::string_view reason, std::string message) {
  ObjectReference reference;
  reference.apiVersion = "v1";
  reference.kind = "Node";
  reference.name = node.metadata.name.str();
  reference.uid = node.metadata.uid.str();
  recorder_->event(std::move(reference), "Normal", reason, std::move(message));
}

}  // namespace ddptwin
