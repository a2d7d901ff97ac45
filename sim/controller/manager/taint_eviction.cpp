#include "controller/manager/taint_eviction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/pods/disruption.hpp"
#include "cluster/pods/placement.hpp"
#include "objects/codec.hpp"

namespace ddptwin {
namespace {

constexpr std::string_view component = "taint-eviction-controller";
constexpr std::string_view event_reason = "TaintManagerEviction";
constexpr std::string_view disruption_reason = "DeletionByTaintManager";
constexpr std::string_view disruption_message = "Taint manager: deleting due to NoExecute taint";

// As upstream: then the pod stays until something about it or its node changes.
constexpr int tries_max = 5;
constexpr Duration retry_delay = 10ms;
// Any longer one lasts for ever in every run, and a moment is kept in nanoseconds.
constexpr std::int64_t toleration_seconds_max = std::int64_t{100} * 365 * 24 * 3600;

const Pod& pod_of(const ObjectPtr& object) { return static_cast<const Pod&>(*object); }

std::vector<Taint> no_execute_taints(const ObjectPtr& node) {
  std::vector<Taint> found;
  for (const Taint& taint : static_cast<const Node&>(*node).spec.taints)
    if (taint.effect == "NoExecute") found.push_back(taint);
  return found;
}

bool stands_alike(const Pod& a, const Pod& b) {
  return a.spec.same_as(b.spec) ||
         (a.spec->nodeName == b.spec->nodeName && equal(a.spec->tolerations, b.spec->tolerations));
}

}  // namespace

Tolerance tolerance_of(const PodSpec& pod, const std::vector<Taint>& taints) {
  std::optional<std::int64_t> shortest;
  for (const Taint& taint : taints) {
    const auto used = std::find_if(pod.tolerations.begin(), pod.tolerations.end(),
                                   [&](const Toleration& t) { return tolerates(t, taint); });
    if (used == pod.tolerations.end()) return {.all_tolerated = false};
    if (!used->tolerationSeconds) continue;
    const std::int64_t lasts =
        std::clamp<std::int64_t>(*used->tolerationSeconds, 0, toleration_seconds_max);
    shortest = std::min(shortest.value_or(lasts), lasts);
  }
  if (!shortest) return {};
  return {.lasts = std::chrono::seconds(*shortest)};
}

TaintEviction::TaintEviction(Loop& loop, api::ApiClient& client, api::SharedInformers& informers)
    : loop_(loop),
      client_(client),
      lane_(loop.new_lane()),
      part_(client, informers),
      pods_(part_.hear(Pod::info(), [this](const ObjectPtr& before,
                                           const ObjectPtr& after) { on_pod(before, after); })),
      nodes_(part_.hear(Node::info(), [this](const ObjectPtr& before, const ObjectPtr& after) {
        on_node(before, after);
      })) {}

TaintEviction::~TaintEviction() = default;

void TaintEviction::start() {
  recorder_ = std::make_unique<api::EventRecorder>(loop_, client_, std::string(component));
  part_.begin();
}

void TaintEviction::crash() {
  part_.end();
  recorder_.reset();
  tainted_.clear();
  pending_.clear();
  retries_.clear();
}

std::vector<std::string> TaintEviction::remembered() const {
  std::vector<std::string> keys;
  for (const auto& [node, taints] : tainted_) keys.push_back(node);
  for (const auto& [key, pending] : pending_) keys.push_back(pending.uid.str());
  for (const auto& [key, timer] : retries_) keys.push_back(key);
  return keys;
}

void TaintEviction::on_node(const ObjectPtr& before, const ObjectPtr& after) {
  if (after == nullptr) {
    // What is pending there stays so, as upstream: the pods are gone first, or go then.
    tainted_.erase(before->metadata.name.str());
    return;
  }
  std::vector<Taint> taints = no_execute_taints(after);
  if (before != nullptr && equal(no_execute_taints(before), taints)) return;
  const std::string name = after->metadata.name.str();
  if (taints.empty()) {
    tainted_.erase(name);
    return cancel_all_on(name);
  }
  tainted_[name] = std::move(taints);
  std::vector<ObjectPtr> there;
  for (const auto& [key, object] : pods_.objects())
    if (pod_of(object).spec->nodeName == name) there.push_back(object);
  for (const ObjectPtr& pod : there) judge(pod_of(pod));
}

void TaintEviction::on_pod(const ObjectPtr& before, const ObjectPtr& after) {
  if (after == nullptr) {
    if (pending_.empty() && retries_.empty()) return;  // as nearly always
    const std::string key = key_of(before->metadata);
    retries_.erase(key);
    return cancel(key);
  }
  const Pod& pod = pod_of(after);
  if (tainted_.empty() || (before != nullptr && stands_alike(pod_of(before), pod))) return;
  if (tainted_.contains(pod.spec->nodeName)) judge(pod);
}

// Precondition: its node is tainted.
void TaintEviction::judge(const Pod& pod) {
  const std::string key = key_of(pod.metadata);
  const Tolerance tolerance = tolerance_of(*pod.spec, tainted_.at(pod.spec->nodeName));
  if (tolerance.all_tolerated && !tolerance.lasts) return cancel(key);
  const auto known = pending_.find(key);
  const bool runs = known != pending_.end() && known->second.uid == pod.metadata.uid;
  if (tolerance.all_tolerated && runs) return;
  cancel(key);
  Pending& pending = pending_[key];
  pending.uid = pod.metadata.uid;
  pending.node = pod.spec->nodeName;
  const Attempt attempt{pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid, 0};
  if (!tolerance.all_tolerated || *tolerance.lasts == Duration::zero()) return evict(attempt);
  pending.timer = loop_.after(lane_, *tolerance.lasts, [this, attempt] { evict(attempt); });
}

void TaintEviction::cancel(const std::string& key) {
  const auto known = pending_.find(key);
  if (known == pending_.end()) return;
  const bool runs = !known->second.over;
  pending_.erase(known);
  if (runs) tell(key, "Cancelling deletion of");
}

void TaintEviction::cancel_all_on(const std::string& node) {
  std::vector<std::string> keys;
  for (const auto& [key, pending] : pending_)
    if (pending.node == node) keys.push_back(key);
  for (const std::string& key : keys) cancel(key);
}

// Precondition: it is pending.
void TaintEviction::evict(const Attempt& attempt) {
  pending_.find(attempt.key())->second.over = true;
  tell(attempt.key(), "Marking for deletion");
  look(attempt);
}

// The pod as it is now: the cache may be behind the kubelet's last status.
void TaintEviction::look(const Attempt& attempt) {
  part_.call(api::get(Pod::info(), attempt.namespace_, attempt.name),
             [this, attempt](const Result<api::Response>& answer) {
               if (!answer) return failed(attempt, answer.error());
               if (answer->object->metadata.uid != attempt.uid) return;
               auto pod = std::static_pointer_cast<Pod>(answer->object->clone());
               if (!mark_disrupted(*pod, disruption_of(*pod, loop_.now(), disruption_reason,
                                                       disruption_message)))
                 return remove(attempt, *pod);
               part_.call(api::update(pod, "status"),
                          [this, attempt, pod](const Result<api::Response>& written) {
                            if (!written) return failed(attempt, written.error());
                            remove(attempt, *pod);
                          });
             });
}

void TaintEviction::remove(const Attempt& attempt, const Object& pod) {
  api::DeleteOptions options;
  options.precondition_uid = attempt.uid.view();
  part_.call(api::remove(pod, std::move(options)),
             [this, attempt](const Result<api::Response>& answer) {
               if (!answer) failed(attempt, answer.error());
             });
}

void TaintEviction::failed(Attempt attempt, const Error& error) {
  if (error.reason == Reason::not_found) return;
  const std::string key = attempt.key();
  if (++attempt.tries == tries_max) {
    const auto known = pending_.find(key);
    if (known != pending_.end() && known->second.uid == attempt.uid) pending_.erase(known);
    return;
  }
  retries_[key] =
      loop_.after(lane_, retry_delay, [this, attempt = std::move(attempt)] { look(attempt); });
}

// About the name alone, without a uid, as upstream: two evictions of one name count as one event.
void TaintEviction::tell(const std::string& key, std::string_view what) {
  const std::size_t slash = key.find('/');
  ObjectReference pod;
  pod.kind = "Pod";
  pod.apiVersion = "v1";
  pod.namespace_ = key.substr(0, slash);
  pod.name = key.substr(slash + 1);
  recorder_->event(std::move(pod), "Normal", event_reason, fmt::format("{} Pod {}", what, key));
}

}  // namespace ddptwin
