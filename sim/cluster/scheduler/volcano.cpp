#include "cluster/scheduler/volcano.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "core/concat.hpp"
#include "objects/codec.hpp"

namespace ddptwin {
namespace {

using namespace scheduler::volcano;
namespace json = boost::json;

// As a real one's name is random, and this one is not.
std::string session_id(std::uint64_t number) {
  return fmt::format("00000000-0000-4000-8000-{:012x}", number);
}

// What a kubelet posts to say that it lives is nothing new.
bool offers_the_same(const Node& before, const Node& after) {
  return *before.metadata.labels == *after.metadata.labels && equal(before.spec, after.spec) &&
         *before.status.allocatable == *after.status.allocatable;
}

}  // namespace

VolcanoScheduler::VolcanoScheduler(Loop& loop, api::ApiClient& client, Trace& trace)
    : loop_(loop),
      client_(client),
      trace_(trace),
      lane_(loop.new_lane()),
      nodes_(loop, client, {.kind = &Node::info()}),
      pods_(loop, client, {.kind = &Pod::info()}),
      groups_(loop, client, {.kind = &VolcanoGroup::info()}),
      queues_(loop, client, {.kind = &VolcanoQueue::info()}),
      classes_(loop, client, {.kind = &PriorityClass::info()}),
      events_(loop, client, std::string(scheduler_name)),
      alive_(std::make_shared<int>(0)) {
  watch(nodes_, known_nodes_);
  watch(groups_, known_groups_);
  watch(queues_, known_queues_);
  watch(classes_, known_classes_);
  pods_.add_handler([this](const auto& b, const auto& a) { on_pod(b, a); });
}

VolcanoScheduler::~VolcanoScheduler() = default;

void VolcanoScheduler::start() {
  for (api::Informer* informer : {&nodes_, &pods_, &groups_, &queues_, &classes_})
    informer->start();
}

std::vector<std::string> VolcanoScheduler::remembered() const {
  std::vector<std::string> keys;
  const auto add = [&keys](const auto& of) {
    for (const auto& [key, row] : of) keys.push_back(key);
  };
  add(known_nodes_);
  add(known_pods_);
  add(known_groups_);
  add(known_queues_);
  add(known_classes_);
  add(assumed_);
  return keys;
}

bool VolcanoScheduler::synced() const {
  const std::array all{&nodes_, &pods_, &groups_, &queues_, &classes_};
  return std::all_of(all.begin(), all.end(),
                     [](const api::Informer* informer) { return informer->synced(); });
}

template <class T>
void VolcanoScheduler::watch(api::Informer& informer, Known<T>& known) {
  informer.add_handler([this, &known](const ObjectPtr& before, const ObjectPtr& after) {
    const std::string key = key_of((after ? after : before)->metadata);
    if (after)
      known.insert_or_assign(key, as<T>(after));
    else
      known.erase(key);
    if constexpr (std::is_same_v<T, Node>)
      if (before && after && offers_the_same(*as<Node>(*before), *as<Node>(*after))) return;
    wake();
  });
}

void VolcanoScheduler::on_pod(const ObjectPtr& before, const ObjectPtr& after) {
  const std::string key = key_of((after ? after : before)->metadata);
  const auto now = as<Pod>(after);
  const bool is_another = now && before && before->metadata.uid != after->metadata.uid;
  if (!now || !now->spec->nodeName.empty() || is_another) assumed_.erase(key);
  if (now)
    known_pods_.insert_or_assign(key, now);
  else
    known_pods_.erase(key);
  wake();
}

// The next session comes when the period is over; it is for whatever woke it first.
void VolcanoScheduler::wake() {
  if (waiting_) return;
  waiting_ = true;
  next_ = loop_.after(lane_, period, [this] {
    waiting_ = false;
    if (synced())
      session();
    else
      wake();
  });
}

SessionView VolcanoScheduler::view() const {
  SessionView seen;
  for (const auto& [name, node] : known_nodes_) seen.cluster.put_node(node);
  for (const auto& [key, pod] : known_pods_) {
    seen.pods.push_back(pod);
    const auto assumed = assumed_.find(key);
    if (assumed == assumed_.end())
      seen.cluster.put_pod(key, pod);
    else
      seen.cluster.try_add(assumed->second, key, scheduler::PodInfo(pod));
  }
  for (const auto& [key, group] : known_groups_) seen.groups.push_back(group);
  for (const auto& [name, queue] : known_queues_) seen.queues.emplace(name, queue);
  for (const auto& [name, one] : known_classes_) seen.priorities.emplace(name, one->value);
  seen.assumed = assumed_;
  seen.id = session_id(sessions_);
  seen.now = loop_.now();
  return seen;
}

void VolcanoScheduler::session() {
  ++sessions_;
  const SessionView seen = view();
  const Outcome outcome = run_session(seen);
  for (const auto& one : outcome.refusals)
    events_.event(*one.group, one.type, one.reason, one.message);
  for (const auto& one : outcome.bindings) bind(one);
  for (const auto& group : outcome.groups) write(*group);
  for (const auto& one : outcome.events)
    events_.event(*one.group, one.type, one.reason, one.message);
  for (const auto& one : outcome.waiting) tell(*one.pod, one.reason, one.message);
}

void VolcanoScheduler::bind(const Outcome::Binding& binding) {
  const std::string key = key_of(binding.pod->metadata);
  record(*binding.pod, binding.node);
  assumed_.insert_or_assign(key, binding.node);
  client_.call(api::bind(*binding.pod, binding.node),
               [this, pod = binding.pod, key, node = binding.node,
                alive = std::weak_ptr<int>(alive_)](const Result<api::Response>& result) {
                 if (alive.expired()) return;
                 if (result) {
                   events_.event(*pod, "Normal", "Scheduled",
                                 concat({"Successfully assigned ", key, " to ", node}));
                   return;
                 }
                 record(*pod, concat({"binding refused: ", result.error().message}));
                 assumed_.erase(key);
                 tell(*pod, "SchedulerError",
                      fmt::format("failed to bind to node {}: {}", node, result.error().message));
                 wake();
               });
}

void VolcanoScheduler::write(const VolcanoGroup& group) {
  auto changed = std::static_pointer_cast<VolcanoGroup>(group.clone());
  client_.call(api::update(std::move(changed), "status"),
               [this, alive = std::weak_ptr<int>(alive_)](const Result<api::Response>& result) {
                 if (!alive.expired() && !result) wake();
               });
}

// Where it says something new.
void VolcanoScheduler::tell(const Pod& pod, std::string_view reason, const std::string& message) {
  const PodCondition* old = pod.status.condition("PodScheduled");
  const bool was_false = old != nullptr && old->status == "False";
  if (was_false && old->reason == reason && old->message == message) return;
  record(pod, message);
  events_.event(pod, "Warning", "FailedScheduling", message);
  PodCondition told;
  told.type_ = "PodScheduled";
  told.status = "False";
  told.reason = reason;
  told.message = message;
  told.lastTransitionTime = was_false ? old->lastTransitionTime : OptionalTime(loop_.now());
  client_.call(
      api::patch(pod, api::PatchType::strategic,
                 json::object{{"status", json::object{{"conditions", json::array{to_json(told)}}}}},
                 "status"),
      [](const Result<api::Response>&) {});
}

void VolcanoScheduler::record(const Pod& pod, std::string_view text) {
  if (!trace_.wants(RecordKind::schedule)) {
    trace_.skip();
    return;
  }
  const std::string subject = key_of(pod.metadata), words(text);
  trace_.write(
      {.kind = RecordKind::schedule, .actor = scheduler_name, .subject = subject, .text = words});
}

}  // namespace ddptwin
