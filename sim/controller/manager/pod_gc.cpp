#include "controller/manager/pod_gc.hpp"

#include <algorithm>

#include "cluster/pods/disruption.hpp"
#include "objects/core_v1.hpp"
#include "objects/node_state.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin {
namespace {

constexpr Duration round = 20s;
constexpr Duration node_quarantine = 40s;  // from a look that misses a node to the one that counts

bool is_finished(const Pod& pod) { return is_terminal_phase(pod.status.phase); }

bool is_ending_unplaced(const Pod& pod) {
  return pod.metadata.deletionTimestamp && pod.spec->nodeName.empty();
}

// What is counted of a pod; of one that is not there, nothing.
struct Counted {
  Counted() = default;
  explicit Counted(const Pod& pod)
      : finished(is_finished(pod)),
        ending_unplaced(is_ending_unplaced(pod)),
        node(pod.spec->nodeName) {}
  bool operator==(const Counted&) const = default;

  bool finished = false, ending_unplaced = false;
  std::string_view node{};  // empty: none
};

// Whether two states count as the same without a look at their specification, which most changes
// leave alone.
bool surely_count_the_same(const Pod& before, const Pod& after) {
  return before.spec.same_as(after.spec) && is_finished(before) == is_finished(after) &&
         before.metadata.deletionTimestamp.has_value() ==
             after.metadata.deletionTimestamp.has_value();
}

bool is_out_of_service(const Node& node) {
  const auto& taints = node.spec.taints;
  return !is_ready(node) && std::any_of(taints.begin(), taints.end(), [](const Taint& taint) {
    return taint.key == "node.kubernetes.io/out-of-service";
  });
}

bool is_older(const ObjectPtr& a, const ObjectPtr& b) {
  return a->metadata.creationTimestamp < b->metadata.creationTimestamp;
}

const Pod& pod_of(const ObjectPtr& object) { return static_cast<const Pod&>(*object); }

}  // namespace

PodGarbageCollector::PodGarbageCollector(Loop& loop, api::ApiClient& client,
                                         api::SharedInformers& informers, Options options)
    : loop_(loop),
      options_(options),
      lane_(loop.new_lane()),
      part_(client, informers),
      pods_(part_.hear(Pod::info(), [this](const ObjectPtr& before,
                                           const ObjectPtr& after) { on_pod(before, after); })),
      nodes_(part_.hear(Node::info(), [this](const ObjectPtr& before, const ObjectPtr& after) {
        on_node(before, after);
      })) {}

PodGarbageCollector::~PodGarbageCollector() = default;

void PodGarbageCollector::start() {
  part_.begin();
  next_ = loop_.after(lane_, round, [this] { look(); });
}

void PodGarbageCollector::crash() {
  part_.end();
  finished_.clear();
  ending_unplaced_.clear();
  on_node_.clear();
  out_of_service_.clear();
  lost_nodes_.clear();
  quarantined_.clear();
  next_.cancel();
}

// A node that is missing is known for the pods that it has.
std::vector<std::string> PodGarbageCollector::remembered() const {
  std::vector<std::string> keys;
  const auto add = [&keys](const auto& table) {
    for (const auto& [key, row] : table) keys.push_back(key);
  };
  add(finished_);
  add(ending_unplaced_);
  for (const auto& [node, pods] : on_node_) add(pods);
  add(out_of_service_);
  add(lost_nodes_);
  add(quarantined_);
  return keys;
}

void PodGarbageCollector::on_pod(const ObjectPtr& before, const ObjectPtr& after) {
  if (before != nullptr && after != nullptr && surely_count_the_same(pod_of(before), pod_of(after)))
    return;
  const Counted was = before != nullptr ? Counted(pod_of(before)) : Counted();
  const Counted now = after != nullptr ? Counted(pod_of(after)) : Counted();
  if (was == now) return;
  const std::string key = key_of((after != nullptr ? after : before)->metadata);
  const auto count = [&](Keys& keys, bool before_, bool after_) {
    if (after_ && !before_) keys.emplace(key, loop_.context());
    if (before_ && !after_) keys.erase(key);
  };
  count(finished_, was.finished, now.finished);
  count(ending_unplaced_, was.ending_unplaced, now.ending_unplaced);
  if (was.node == now.node) return;
  if (!was.node.empty()) leave_node(key, pod_of(before).spec->nodeName);
  if (!now.node.empty()) come_to_node(key, pod_of(after).spec->nodeName);
}

void PodGarbageCollector::come_to_node(const std::string& key, const std::string& node) {
  Keys& there = on_node_[node];
  there.emplace(key, loop_.context());
  if (there.size() == 1) look_for_node(node);
}

void PodGarbageCollector::leave_node(const std::string& key, const std::string& node) {
  const auto there = on_node_.find(node);
  there->second.erase(key);
  if (!there->second.empty()) return;
  lost_nodes_.erase(there->first);
  on_node_.erase(there);
}

void PodGarbageCollector::on_node(const ObjectPtr& before, const ObjectPtr& after) {
  if (before == nullptr || after == nullptr)
    look_for_node((after != nullptr ? after : before)->metadata.name.str());
  note_service(before, after);
}

void PodGarbageCollector::look_for_node(const std::string& name) {
  if (nodes_.find({}, name) == nullptr && on_node_.contains(name))
    lost_nodes_.emplace(name, loop_.context());
  else
    lost_nodes_.erase(name);
}

void PodGarbageCollector::note_service(const ObjectPtr& before, const ObjectPtr& after) {
  if (after != nullptr && is_out_of_service(static_cast<const Node&>(*after)))
    out_of_service_.insert_or_assign(after->metadata.name.str(), loop_.context());
  else
    out_of_service_.erase((after != nullptr ? after : before)->metadata.name.str());
}

void PodGarbageCollector::look() {
  next_ = loop_.after(lane_, round, [this] { look(); });
  if (!pods_.synced() || !nodes_.synced()) return;
  collect_finished();
  collect_terminating();
  collect_orphaned();
  collect_unscheduled();
}

// The oldest finished pods beyond the threshold.
void PodGarbageCollector::collect_finished() {
  if (options_.finished_threshold == 0 || finished_.size() <= options_.finished_threshold) return;
  std::vector<ObjectPtr> finished;
  for (const auto& [key, since] : finished_) finished.push_back(pods_.find(key));
  std::stable_sort(finished.begin(), finished.end(), is_older);
  finished.resize(finished.size() - options_.finished_threshold);
  for (const ObjectPtr& pod : finished) {
    const ContextScope of_its_end(loop_, finished_.find(key_of(pod->metadata))->second);
    remove(*pod);
  }
}

// The oldest first.
void PodGarbageCollector::collect_terminating() {
  std::vector<ObjectPtr> found;
  for (const auto& [node, since] : out_of_service_) {
    const auto there = on_node_.find(node);
    if (there == on_node_.end()) continue;
    for (const auto& [key, placed] : there->second)
      if (const ObjectPtr& pod = pods_.find(key); pod->metadata.deletionTimestamp)
        found.push_back(pod);
  }
  std::stable_sort(found.begin(), found.end(), is_older);
  for (const ObjectPtr& pod : found) {
    const ContextScope of_its_node(loop_, out_of_service_.find(pod_of(pod).spec->nodeName)->second);
    mark_and_remove(pod, {}, {});
  }
}

void PodGarbageCollector::collect_orphaned() {
  std::set<std::string> over;
  for (const auto& [node, until] : quarantined_)
    if (until <= loop_.now()) over.insert(node);
  for (const std::string& node : over) quarantined_.erase(node);
  // Also those whose time is over now: that is how a name comes to be remembered.
  for (const auto& [node, since] : lost_nodes_)
    quarantined_.try_emplace(node, loop_.now() + node_quarantine);
  Keys orphans;
  for (const std::string& node : over) {
    const auto lost = lost_nodes_.find(node);
    if (lost == lost_nodes_.end()) continue;
    for (const auto& [key, placed] : on_node_.at(node)) orphans.emplace(key, lost->second);
  }
  for (const auto& [key, since] : orphans) {
    const ContextScope of_its_node(loop_, since);
    mark_and_remove(pods_.find(key), "DeletionByPodGC", "PodGC: node no longer exists");
  }
}

void PodGarbageCollector::collect_unscheduled() {
  for (const auto& [key, since] : ending_unplaced_) {
    const ContextScope of_its_end(loop_, since);
    mark_and_remove(pods_.find(key), {}, {});
  }
}

// A pod that did not finish by itself becomes Failed first; a reason makes it a disruption.
void PodGarbageCollector::mark_and_remove(const ObjectPtr& object, std::string_view reason,
                                          std::string_view message) {
  if (is_finished(pod_of(object))) return remove(*object);
  auto pod = std::static_pointer_cast<Pod>(object->clone());
  pod->status.phase = "Failed";
  pod->status.observedGeneration = pod->metadata.generation;
  if (!reason.empty()) mark_disrupted(*pod, disruption_of(*pod, loop_.now(), reason, message));
  part_.call(api::update(pod, "status"), [this, pod](const Result<api::Response>& answer) {
    // Refused: the next round looks at what it is then.
    if (answer) remove(*pod);
  });
}

void PodGarbageCollector::remove(const Object& pod) {
  api::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.precondition_uid = pod.metadata.uid.view();
  part_.call(api::remove(pod, std::move(options)), [](const Result<api::Response>&) {});
}

}  // namespace ddptwin
