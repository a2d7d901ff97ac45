#include "cluster/pod_gc.hpp"

#include <algorithm>

#include "objects/core_v1.hpp"

namespace ddptwin {
namespace {

constexpr Duration round = 20s;
constexpr Duration node_quarantine = 40s;  // a node object that comes back sooner changes nothing

bool is_finished(const Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

const Pod& pod_of(const ObjectPtr& object) { return static_cast<const Pod&>(*object); }

}  // namespace

PodGarbageCollector::PodGarbageCollector(Loop& loop, api::ApiClient& client, Options options)
    : loop_(loop),
      client_(client),
      options_(options),
      lane_(loop.new_lane()),
      pods_(loop, client, {&Pod::info(), {}, {}, {}}),
      nodes_(loop, client, {&Node::info(), {}, {}, {}}),
      alive_(std::make_shared<int>(0)) {}

PodGarbageCollector::~PodGarbageCollector() = default;

void PodGarbageCollector::start() {
  pods_.start();
  nodes_.start();
  next_ = loop_.after(lane_, round, [this] { look(); });
}

void PodGarbageCollector::look() {
  next_ = loop_.after(lane_, round, [this] { look(); });
  if (!pods_.synced() || !nodes_.synced()) return;
  collect_finished();
  collect_orphaned();
  collect_unscheduled();
}

// The oldest finished pods beyond the threshold.
void PodGarbageCollector::collect_finished() {
  std::vector<ObjectPtr> finished;
  for (const auto& [key, pod] : pods_.objects())
    if (is_finished(pod_of(pod))) finished.push_back(pod);
  if (finished.size() <= options_.finished_threshold) return;
  std::stable_sort(finished.begin(), finished.end(), [](const ObjectPtr& a, const ObjectPtr& b) {
    return a->metadata.creationTimestamp < b->metadata.creationTimestamp;
  });
  finished.resize(finished.size() - options_.finished_threshold);
  for (const ObjectPtr& pod : finished) remove(*pod);
}

void PodGarbageCollector::collect_orphaned() {
  std::map<std::string, Time, std::less<>> missing;
  for (const auto& [key, pod] : pods_.objects()) {
    const std::string& node = pod_of(pod).spec->nodeName;
    if (node.empty() || nodes_.find({}, node) != nullptr) continue;
    const auto known = missing_since_.find(node);
    const Time since = known != missing_since_.end() ? known->second : loop_.now();
    missing.emplace(node, since);
    if (loop_.now() - since >= node_quarantine)
      mark_and_remove(pod, "DeletionByPodGC", "PodGC: node no longer exists");
  }
  missing_since_ = std::move(missing);
}

void PodGarbageCollector::collect_unscheduled() {
  for (const auto& [key, pod] : pods_.objects())
    if (pod->metadata.deletionTimestamp && pod_of(pod).spec->nodeName.empty())
      mark_and_remove(pod, {}, {});
}

// A pod that did not finish by itself becomes Failed first; a reason makes it a disruption.
void PodGarbageCollector::mark_and_remove(const ObjectPtr& object, std::string reason,
                                          std::string message) {
  if (is_finished(pod_of(object))) return remove(*object);
  auto pod = std::static_pointer_cast<Pod>(object->clone());
  pod->status.phase = "Failed";
  pod->status.observedGeneration = pod->metadata.generation;
  if (!reason.empty()) {
    PodCondition disrupted;
    disrupted.type_ = "DisruptionTarget";
    disrupted.observedGeneration = pod->metadata.generation;
    disrupted.status = "True";
    disrupted.lastTransitionTime = loop_.now().floor_seconds();
    disrupted.reason = std::move(reason);
    disrupted.message = std::move(message);
    std::erase_if(pod->status.conditions,
                  [](const PodCondition& c) { return c.type_ == "DisruptionTarget"; });
    pod->status.conditions.push_back(std::move(disrupted));
  }
  client_.call(api::update(pod, "status"), [this, alive = std::weak_ptr<int>(alive_),
                                            pod](const Result<api::Response>& answer) {
    // Refused: the next round looks at what it is then.
    if (!alive.expired() && answer) remove(*pod);
  });
}

void PodGarbageCollector::remove(const Object& pod) {
  api::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.precondition_uid = pod.metadata.uid;
  client_.call(api::remove(pod, std::move(options)), [](const Result<api::Response>&) {});
}

}  // namespace ddptwin
