#include "cluster/scheduler/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "cluster/pods/disruption.hpp"
#include "core/concat.hpp"
#include "objects/codec.hpp"

namespace ddptwin {
namespace {

using namespace scheduler;
namespace json = boost::json;

constexpr Duration sync_poll = std::chrono::milliseconds(100);  // WaitForCacheSync
constexpr Duration error_delay_first = std::chrono::seconds(1);
constexpr Duration error_delay_max = std::chrono::seconds(10);
constexpr std::string_view preempts = "preempts ";
constexpr std::string_view preempted_message = ": preempting to accommodate a higher priority pod";

bool is_placed(const Pod& pod) { return !pod.spec->nodeName.empty(); }

// Waits for this scheduler to act.
bool is_waiting(const Pod& pod, std::string_view scheduler) {
  return !is_placed(pod) && !has_ended(pod) && pod.spec->rest->schedulerName == scheduler &&
         pod.spec->schedulingGates.empty();
}

bool counts(const Pod* pod) { return pod != nullptr && is_placed(*pod) && !has_ended(*pod); }

Duration error_delay(int attempts) {
  Duration delay = error_delay_first;
  for (int i = 1; i < attempts && delay < error_delay_max; ++i) delay *= 2;
  return std::min(delay, error_delay_max);
}

// A condition for the pod's status, in its place or behind the others: client-go says with each
// patch in which order it wants the list.
json::object with_condition(const Pod& pod, const PodCondition& condition) {
  json::array order;
  const auto add = [&](std::string_view type) { order.push_back(json::object{{"type", type}}); };
  for (const PodCondition& known : pod.status.conditions) add(known.type_);
  if (pod.status.condition(condition.type_) == nullptr) add(condition.type_);
  return {{"$setElementOrder/conditions", std::move(order)},
          {"conditions", json::array{to_json(condition)}}};
}

std::string name_of(const Pod& pod) { return key_of(pod.metadata); }

template <class T>
void put_or_erase(Known<T>& known, const std::string& key, std::shared_ptr<const T> object) {
  if (object)
    known.insert_or_assign(key, std::move(object));
  else
    known.erase(key);
}

}  // namespace

Scheduler::Scheduler(Loop& loop, api::ApiClient& client, Trace& trace,
                     const SchedulerProfile& profile)
    : loop_(loop),
      client_(client),
      trace_(trace),
      profile_(profile),
      lane_(loop.new_lane()),
      namespaces_(loop, client, {.kind = &Namespace::info()}),
      nodes_(loop, client, {.kind = &Node::info()}),
      pods_(loop, client, {.kind = &Pod::info()}),
      queue_(loop, profile.coscheduling
                       ? SchedulingQueue::TurnOf([this](const Pod& pod, Time came) {
                           return gangs_->turn_of(pod, came);
                         })
                       : nullptr),
      events_(loop, client, profile.name),
      alive_(std::make_shared<int>(0)) {
  namespaces_.add_handler([this](const auto& b, const auto& a) { on_namespace(b, a); });
  nodes_.add_handler([this](const auto& b, const auto& a) { on_node(b, a); });
  pods_.add_handler([this](const auto& b, const auto& a) { on_pod(b, a); });
  watch(claims_, &VolumeView::claims);
  watch(volumes_, &VolumeView::volumes);
  watch(classes_, &VolumeView::classes);
  if (client_.kinds().share(PodDisruptionBudget::info()) != nullptr)
    budgets_.emplace(loop, client, api::Target{.kind = &PodDisruptionBudget::info()});
  if (!profile_.coscheduling) return;
  gangs_.emplace(*profile_.coscheduling);
  groups_.emplace(loop, client, api::Target{.kind = &CoschedulingGroup::info()});
  groups_->add_handler([this](const auto& b, const auto& a) { on_group(b, a); });
}

Scheduler::~Scheduler() = default;

void Scheduler::start() {
  for (api::Informer* informer : {&namespaces_, &nodes_, &pods_}) informer->start();
  for (auto* informer : {&claims_, &volumes_, &classes_, &budgets_, &groups_})
    if (*informer) (*informer)->start();
}

std::vector<std::string> Scheduler::remembered() const {
  std::vector<std::string> keys = queue_.keys();
  keys.insert(keys.end(), assumed_.begin(), assumed_.end());
  const auto add = [&keys](const auto& of) {
    for (const auto& [key, row] : of) keys.push_back(key);
  };
  add(retries_);
  add(bindings_);
  add(permits_);
  if (gangs_)
    for (std::string& key : gangs_->remembered()) keys.push_back(std::move(key));
  return keys;
}

bool Scheduler::synced() const {
  const std::array optional{&claims_, &volumes_, &classes_, &budgets_, &groups_};
  return namespaces_.synced() && nodes_.synced() && pods_.synced() &&
         std::all_of(optional.begin(), optional.end(),
                     [](const auto* informer) { return !*informer || (*informer)->synced(); });
}

void Scheduler::on_namespace(const ObjectPtr& before, const ObjectPtr& after) {
  if (after)
    view_.put_namespace(after->metadata.name.str(), *after->metadata.labels);
  else
    view_.drop_namespace(before->metadata.name.str());
}

// Of volumes, their claims and classes.
template <class T>
void Scheduler::watch(std::optional<api::Informer>& informer, Known<T> VolumeView::*of) {
  if (client_.kinds().share(T::info()) == nullptr) return;
  informer.emplace(loop_, client_, api::Target{.kind = &T::info()});
  informer->add_handler(
      [this, of](const auto& b, const auto& a) { keep(view_.edit_volumes().*of, b, a); });
}

template <class T>
void Scheduler::keep(Known<T>& known, const ObjectPtr& before, const ObjectPtr& after) {
  put_or_erase(known, key_of((after ? after : before)->metadata), as<T>(after));
  look_at_bindings();
  if (after)
    happened(
        {.kind = ClusterEvent::Kind::volumes_changed, .claim = as<PersistentVolumeClaim>(after)});
}

void Scheduler::on_node(const ObjectPtr& before, const ObjectPtr& after) {
  if (!after) {
    view_.drop_node(before->metadata.name.str());
    return happened({.kind = ClusterEvent::Kind::node_removed, .node_before = as<Node>(before)});
  }
  view_.put_node(as<Node>(after));
  happened({.kind = before ? ClusterEvent::Kind::node_changed : ClusterEvent::Kind::node_added,
            .node_before = as<Node>(before),
            .node_after = as<Node>(after)});
}

// A pod is in the view from its placing to its end, in the queue before.
void Scheduler::on_pod(const ObjectPtr& before, const ObjectPtr& after) {
  const Pod* old = before ? as<Pod>(*before) : nullptr;
  const PodPtr now = as<Pod>(after);
  const ObjectMeta& meta = (now ? *now : *old).metadata;
  // Mostly it is only looked up.
  const std::string& key = key_.assign(meta.namespace_).append(1, '/').append(meta.name);
  if (!bindings_.empty()) drop_binding(key, now.get());
  if (gangs_) {
    gangs_->see_pod(as<Pod>(before), now);
    if (!permits_.empty()) drop_permit(std::string(key), now.get());
  }
  if (!assumed_.empty()) {
    if (!now || is_placed(*now) || has_ended(*now)) assumed_.erase(key);
    // Older than this scheduler's own decision, of which the cache has not heard yet.
    if (assumed_.contains(key)) return;
  }
  if (now)
    view_.put_pod(key, now);
  else
    view_.drop_pod(key);
  const bool did = counts(old), does = counts(now.get());
  if (!did && does) happened({.kind = ClusterEvent::Kind::pod_placed, .pod_after = now});
  if (did && !does)
    happened({.kind = ClusterEvent::Kind::pod_freed, .pod_before = as<Pod>(before)});
  if (did && does && !old->metadata.labels.same_as(now->metadata.labels) &&
      *old->metadata.labels != *now->metadata.labels)
    happened({.kind = ClusterEvent::Kind::pod_relabelled,
              .pod_before = as<Pod>(before),
              .pod_after = now});
  if (now && is_waiting(*now, profile_.name)) {
    queue_.put(now, view_);
  } else {
    queue_.drop(key);
    if (!retries_.empty()) retries_.erase(key);
  }
  pump();
}

void Scheduler::happened(const ClusterEvent& event) {
  queue_.happened(event, view_);
  pump();
}

void Scheduler::pump() {
  if (pumping_ || !queue_.has_ready()) return;
  pumping_ = true;
  // The process may end before.
  loop_.post(lane_, [this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) schedule_next();
  });
}

void Scheduler::schedule_next() {
  pumping_ = false;
  if (!synced()) {
    poll_ = loop_.after(lane_, sync_poll, [this] { pump(); });
    return;
  }
  if (auto taken = queue_.take()) schedule(std::move(*taken));
  pump();
}

void Scheduler::schedule(SchedulingQueue::Taken&& taken) {
  const ContextScope of_this_pod(loop_, taken.context);
  const Pod& pod = *taken.pod->pod;
  retries_.erase(taken.key);
  if (pod.metadata.deletionTimestamp) {
    events_.event(pod, {"Warning", "FailedScheduling", "Scheduling",
                        "skip schedule deleting pod: " + name_of(pod)});
    return queue_.drop(taken.key);
  }
  if (gangs_ && !passes_pre_filter(taken)) return;
  const Decision decision = decide(*taken.pod, view_);
  if (decision.node.empty()) return fail(taken, decision);
  assume(taken, decision.node);
  if (gangs_ && !is_permitted(taken, decision.node)) return;
  bind(std::move(taken), decision.node);
}

void Scheduler::assume(const SchedulingQueue::Taken& taken, const std::string& node) {
  view_.drop_pod(taken.key);
  view_.try_add(node, taken.key, *taken.pod);
  assumed_.insert(taken.key);
}

// What the cache says of it is true again.
void Scheduler::forget(const std::string& key) {
  assumed_.erase(key);
  if (const auto known = as<Pod>(pods_.find(key)))
    view_.put_pod(key, known);
  else
    view_.drop_pod(key);
}

void Scheduler::bind(SchedulingQueue::Taken&& taken, const std::string& node) {
  record(*taken.pod->pod, node);
  if (taken.pod->needs->claims.empty()) return bind_pod(std::move(taken), node);
  const std::string key = taken.key;
  Binding& binding =
      bindings_.insert_or_assign(key, Binding{std::move(taken), node, ++last_binding_})
          .first->second;
  binding.limit = loop_.after(lane_, volumes_max, [this, key] {
    volumes_failed(key, "binding volumes: context deadline exceeded");
  });
  bind_volumes(binding, *view_.find(node)->node);
  look_at_bindings();
}

// What is written counts at once, as the pod's place does.
void Scheduler::bind_volumes(Binding& binding, const Node& node) {
  const VolumeWork work = volume_work(*binding.taken.pod->pod, node, view_.volumes());
  binding.work = work;
  binding.unanswered = work.bindings.size() + work.provisions.size();
  for (const auto& [claim, volume] : work.bindings) {
    auto kept = kept_for(*volume, *claim);
    view_.edit_volumes().volumes.insert_or_assign(volume->metadata.name.str(), kept);
    write(binding, api::update(std::move(kept)));
  }
  for (const ClaimPtr& claim : work.provisions) {
    const std::string node_name = node.metadata.name.str();
    view_.edit_volumes().claims.insert_or_assign(key_of(claim->metadata),
                                                 with_node(*claim, node_name));
    write(binding,
          api::patch(*claim, api::PatchType::merge,
                     json::object{
                         {"metadata", json::object{{"annotations",
                                                    json::object{{selected_node, node_name}}}}}}));
  }
}

// An answer that comes late is to a try that is over.
void Scheduler::write(const Binding& binding, api::Request request) {
  client_.call(std::move(request),
               [this, pod = binding.taken.key, number = binding.number,
                alive = std::weak_ptr<int>(alive_)](const Result<api::Response>& result) {
                 if (alive.expired()) return;
                 const auto found = bindings_.find(pod);
                 if (found == bindings_.end() || found->second.number != number) return;
                 if (!result)
                   return volumes_failed(pod, "binding volumes: " + result.error().message);
                 --found->second.unanswered;
                 note_written(found->second.work, result->object);
                 look_at_bindings();
               });
}

// Pods whose volumes have all been bound go to their nodes.
void Scheduler::look_at_bindings() {
  std::vector<std::string> keys;
  for (const auto& [key, binding] : bindings_) keys.push_back(key);
  for (const std::string& key : keys) {
    Binding& binding = bindings_.find(key)->second;
    const ClaimsProgress progress = progress_of(binding);
    if (progress.state == ClaimsState::waiting) continue;
    if (progress.state == ClaimsState::failed) {
      volumes_failed(key, "binding volumes: " + progress.problem);
      continue;
    }
    Binding done = std::move(binding);
    bindings_.erase(key);
    bind_pod(std::move(done.taken), done.node);
  }
}

ClaimsProgress Scheduler::progress_of(const Binding& binding) const {
  const NodeInfo* node = view_.find(binding.node);
  if (node == nullptr)
    return {ClaimsState::failed, fmt::format("node \"{}\" not found", binding.node)};
  if (binding.unanswered > 0) return {ClaimsState::waiting};
  return progress_of_work(binding.work, *node->node, view_.volumes());
}

void Scheduler::volumes_failed(const std::string& pod, const std::string& problem) {
  const auto found = bindings_.find(pod);
  if (found == bindings_.end()) return;
  const Binding failed = std::move(found->second);
  bindings_.erase(found);
  forget_assumed(failed.work);
  record(*failed.taken.pod->pod, problem);
  take_back(failed.taken, concat({"running PreBind plugin \"VolumeBinding\": ", problem}));
}

// What the caches say of these volumes and claims is true again; what was assumed of others for
// other pods stays.
void Scheduler::forget_assumed(const VolumeWork& work) {
  VolumeView& known = view_.edit_volumes();
  for (const auto& [claim, volume] : work.bindings) {
    const std::string key = key_of(volume->metadata);
    put_or_erase(known.volumes, key, as<PersistentVolume>(volumes_->find(key)));
  }
  for (const ClaimPtr& claim : work.provisions) {
    const std::string key = key_of(claim->metadata);
    put_or_erase(known.claims, key, as<PersistentVolumeClaim>(claims_->find(key)));
  }
}

// The pod is gone, or another one of its name has come.
void Scheduler::drop_binding(const std::string& key, const Pod* now) {
  const auto found = bindings_.find(key);
  if (found == bindings_.end()) return;
  if (now != nullptr && now->metadata.uid == found->second.taken.pod->pod->metadata.uid) return;
  const Binding dropped = std::move(found->second);
  bindings_.erase(found);
  assumed_.erase(key);
  queue_.drop(key);
  forget_assumed(dropped.work);
}

void Scheduler::bind_pod(SchedulingQueue::Taken&& taken, const std::string& node) {
  api::Request request = api::bind(*taken.pod->pod, node);
  client_.call(std::move(request),
               [this, taken = std::move(taken), node,
                alive = std::weak_ptr<int>(alive_)](const Result<api::Response>& result) {
                 if (alive.expired()) return;
                 on_bound(taken, node, result ? Status() : tl::make_unexpected(result.error()));
               });
}

void Scheduler::on_bound(const SchedulingQueue::Taken& taken, const std::string& node,
                         const Status& result) {
  const Pod& pod = *taken.pod->pod;
  if (result) {
    events_.event(pod, {"Normal", "Scheduled", "Binding",
                        concat({"Successfully assigned ", taken.key, " to ", node})});
    return queue_.drop(taken.key);
  }
  record(pod, "binding refused: " + result.error().message);
  take_back(taken, "binding rejected: " + result.error().message);
}

// Tried again after a while.
void Scheduler::take_back(const SchedulingQueue::Taken& taken, const std::string& message) {
  const Pod& pod = *taken.pod->pod;
  forget(taken.key);
  if (gangs_) {
    gangs_->unreserve(pod);
    reject_group(pod, Coscheduling::with_another);
  }
  if (!queue_.contains(taken.key)) return;
  events_.event(pod, {"Warning", "FailedScheduling", "Scheduling", message});
  write_condition(pod, "SchedulerError", message, std::nullopt);
  retries_[taken.key] = loop_.after(lane_, error_delay(taken.attempts), [this, key = taken.key] {
    queue_.wake(key);
    pump();
  });
}

void Scheduler::fail(const SchedulingQueue::Taken& taken, const Decision& decision) {
  const Pod& pod = *taken.pod->pod;
  std::string message = "no nodes available to schedule pods";
  std::optional<std::string> nominated;
  Preemption preemption;
  std::set<std::string_view> refused_by;
  if (!view_.empty()) {
    for (const NodeRefusal& refused : decision.refusals) refused_by.insert(refused.refusal.filter);
    message = availability_text(decision);
    preemption = preempt(*taken.pod, decision.refusals, view_, budgets());
    if (preemption.node.empty())
      message += " no new claims to deallocate, preemption: " + preemption.text;
    if (preemption.eligible) nominated = preemption.node;
  }
  record(pod, message);
  // The plugins are asked one after the other until one finds a node.
  if (gangs_ && preemption.node.empty()) message += reject_after(pod);
  put_aside(taken, std::move(refused_by));
  if (nominated) view_.nominate(taken.pod, *nominated);
  events_.event(pod, {"Warning", "FailedScheduling", "Scheduling", message});
  write_condition(pod, "Unschedulable", message, nominated);
  for (const PodPtr& victim : preemption.victims) evict(*victim, pod, preemption.node);
}

// Until something happens that one of these thinks helpful, or the longest time is over.
void Scheduler::put_aside(const SchedulingQueue::Taken& taken,
                          std::set<std::string_view> refused_by) {
  queue_.wait(taken.key, std::move(refused_by));
  retries_[taken.key] = loop_.after(lane_, retry_max, [this, key = taken.key] {
    queue_.wake(key);
    pump();
  });
}

// Whoever is to be pushed aside is looked for with these in mind.
std::vector<BudgetPtr> Scheduler::budgets() const {
  std::vector<BudgetPtr> known;
  if (budgets_)
    for (const auto& [key, budget] : budgets_->objects())
      known.push_back(as<PodDisruptionBudget>(budget));
  return known;
}

// The victim keeps its own grace; it is marked first, so that its owner can tell why it went.
void Scheduler::evict(const Pod& victim, const Pod& preemptor, const std::string& node) {
  if (victim.metadata.deletionTimestamp) return;
  const ContextScope of_this_victim(loop_);
  record(preemptor, concat({preempts, name_of(victim), " on ", node}));
  // It is not even bound.
  if (permits_.contains(name_of(victim))) return reject(name_of(victim), "preempted");
  const std::string message = concat({profile_.name, preempted_message});
  const PodCondition disruption = disruption_of(victim, loop_.now(), preempted_reason, message);
  json::object body{{"status", with_condition(victim, disruption)}};
  client_.call(api::patch(victim, api::PatchType::strategic, std::move(body), "status"),
               [](const Result<api::Response>&) {});
  client_.call(api::remove(victim), [](const Result<api::Response>&) {});
  events_.event(
      victim,
      {"Normal", "Preempted", "Preempting",
       fmt::format("Preempted by pod {} on node {}", preemptor.metadata.uid.view(), node)},
      &preemptor);
}

// Written only where it says something new; the time of the change stays while it is about words.
void Scheduler::write_condition(const Pod& pod, std::string_view reason, const std::string& message,
                                const std::optional<std::string>& nominated) {
  const auto* old = pod.status.condition("PodScheduled");
  const bool was_false = old != nullptr && old->status == "False";
  json::object status;
  if (!was_false || old->reason != reason || old->message != message) {
    PodCondition condition;
    condition.type_ = "PodScheduled";
    condition.observedGeneration = pod.metadata.generation;
    condition.status = "False";
    condition.lastTransitionTime =
        was_false && old->lastTransitionTime ? *old->lastTransitionTime : loop_.now();
    condition.reason = reason;
    condition.message = message;
    status = with_condition(pod, condition);
  }
  if (nominated && *nominated != pod.status.rest->nominatedNodeName)
    status.emplace("nominatedNodeName", nominated->empty() ? Json() : Json(*nominated));
  if (status.empty()) return;
  client_.call(api::patch(pod, api::PatchType::strategic,
                          json::object{{"status", std::move(status)}}, "status"),
               [](const Result<api::Response>&) {});
}

void Scheduler::record(const Pod& pod, const std::string& text) {
  if (!trace_.wants(RecordKind::schedule)) {
    trace_.skip();
    return;
  }
  const std::string subject = name_of(pod);
  trace_.write(
      {.kind = RecordKind::schedule, .actor = profile_.name, .subject = subject, .text = text});
}

}  // namespace ddptwin
