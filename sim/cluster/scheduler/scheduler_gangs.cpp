// The scheduler with the plugin Coscheduling: who waits for the others of its gang, who lets them
// go on and who sends them back (scheduler-plugins, pkg/coscheduling/coscheduling.go).
#include <fmt/format.h>

#include "cluster/scheduler/scheduler.hpp"
#include "core/concat.hpp"

namespace ddptwin {

using namespace scheduler;

namespace {

constexpr std::string_view waits_on = "waits for the others of its gang, on ";

}  // namespace

void Scheduler::on_group(const ObjectPtr& before, const ObjectPtr& after) {
  if (!after) return gangs_->drop_group(key_of(before->metadata));
  gangs_->put_group(as<CoschedulingGroup>(after));
  happened({.kind = ClusterEvent::Kind::group_changed});
}

// Extension point PreFilter; where it refuses nobody looks at a node.
bool Scheduler::passes_pre_filter(const SchedulingQueue::Taken& taken) {
  Decision decision;
  decision.rejected = gangs_->pre_filter(*taken.pod->pod, view_, loop_.now());
  if (decision.rejected.empty()) return true;
  for (const NodeInfo* node : view_.nodes())
    decision.refusals.push_back({node, {.filter = Coscheduling::plugin}});
  fail(taken, decision);
  return false;
}

// Extension point Permit, of a pod that is assumed on the node. False: it waits there, or has been
// sent back.
bool Scheduler::is_permitted(SchedulingQueue::Taken& taken, const std::string& node) {
  const PodInfoPtr pod = taken.pod;
  const Coscheduling::Permission answer = gangs_->permit(*pod->pod);
  switch (answer.permit) {
    case Coscheduling::Permit::alone:
      return true;
    case Coscheduling::Permit::ready:
      allow(Coscheduling::group_of(*pod->pod));
      return true;
    case Coscheduling::Permit::no_group:
    case Coscheduling::Permit::wait:
      break;
  }
  const std::string key = taken.key;
  record(*pod->pod, concat({waits_on, node}));
  permits_.insert_or_assign(key, Permit{std::move(taken), node});
  if (answer.permit == Coscheduling::Permit::no_group) {
    reject(key, "PodGroup not found");
    return false;
  }
  permits_.find(key)->second.limit = loop_.after(lane_, answer.wait, [this, key, answer] {
    reject(key, fmt::format("rejected due to timeout after waiting {} at plugin {}",
                            format_go_duration(answer.wait), Coscheduling::plugin));
    pump();
  });
  if (answer.first)
    for (const std::string& sibling : gangs_->siblings(*pod->pod))
      queue_.activate(fmt::format("{}/{}", pod->pod->metadata.namespace_.view(), sibling));
  return false;
}

// All of the group that wait go to their nodes.
void Scheduler::allow(const std::string& group) {
  std::vector<std::string> keys;
  for (const auto& [key, permit] : permits_)
    if (Coscheduling::group_of(*permit.taken.pod->pod) == group) keys.push_back(key);
  for (const std::string& key : keys) {
    Permit allowed = std::move(permits_.find(key)->second);
    permits_.erase(key);
    bind(std::move(allowed.taken), allowed.node);
  }
}

// Whoever waits of its group.
void Scheduler::reject_group(const Pod& pod, std::string_view why) {
  const std::string group = Coscheduling::group_of(pod);
  if (group.empty()) return;
  std::vector<std::string> keys;
  for (const auto& [key, permit] : permits_)
    if (Coscheduling::group_of(*permit.taken.pod->pod) == group) keys.push_back(key);
  gangs_->note_failure(pod, loop_.now());
  for (const std::string& key : keys) reject_alone(key, why);
}

// One that waits loses its node, and the others of its group lose theirs with it.
void Scheduler::reject(const std::string& key, std::string_view why) {
  const PodPtr pod = permits_.find(key)->second.taken.pod->pod;
  reject_alone(key, why);
  reject_group(*pod, Coscheduling::with_another);
}

void Scheduler::reject_alone(const std::string& key, std::string_view why) {
  const auto found = permits_.find(key);
  const Permit rejected = std::move(found->second);
  permits_.erase(found);
  const ContextScope of_this_pod(loop_, rejected.taken.context);
  const Pod& pod = *rejected.taken.pod->pod;
  gangs_->unreserve(pod);
  forget(key);
  const std::string message = availability_text(1, {std::string(why)});
  record(pod, message);
  put_aside(rejected.taken, {Coscheduling::plugin});
  events_.event(pod, {"Warning", "FailedScheduling", "Scheduling", message});
  write_condition(pod, "Unschedulable", message, std::nullopt);
}

// The pod is gone, or another one of its name has come.
void Scheduler::drop_permit(const std::string& key, const Pod* now) {
  const auto found = permits_.find(key);
  if (found == permits_.end()) return;
  const PodPtr pod = found->second.taken.pod->pod;
  if (now != nullptr && now->metadata.uid == pod->metadata.uid) return;
  permits_.erase(found);
  assumed_.erase(key);
  queue_.drop(key);
  gangs_->unreserve(*pod);
  reject_group(*pod, Coscheduling::with_another);
}

// Extension point PostFilter of a pod that fits nowhere: what is to be said behind the other
// plugins' words.
std::string Scheduler::reject_after(const Pod& pod) {
  if (!gangs_->rejects_group(pod, loop_.now())) return {};
  reject_group(pod, "optimistic rejection in PostFilter");
  return fmt::format(
      ", PodGroup {} gets rejected due to Pod {} is unschedulable even after PostFilter",
      Coscheduling::group_of(pod), pod.metadata.name.view());
}

}  // namespace ddptwin
