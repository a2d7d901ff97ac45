#include "cluster/scheduler/queue.hpp"

#include <algorithm>

#include "cluster/scheduler/coscheduling.hpp"
#include "objects/codec.hpp"

namespace ddptwin::scheduler {
namespace {

// Its status is what the scheduler itself writes.
bool asks_the_same(const Pod& before, const Pod& after) {
  return *before.metadata.labels == *after.metadata.labels &&
         (before.spec.same_as(after.spec) || equal(*before.spec, *after.spec));
}

}  // namespace

void SchedulingQueue::set_state(Entries::iterator at, State state) {
  Entry& entry = at->second;
  if (entry.state == State::ready) ready_.erase(turn_of(entry));
  if (entry.state == State::waiting) waiting_.erase(at->first);
  entry.state = state;
  if (state == State::ready) {
    entry.context = loop_.context();
    if (turn_of_) entry.plugin_turn = turn_of_(*entry.pod->pod, entry.came);
    ready_.emplace(turn_of(entry), at);
  }
  if (state == State::waiting) waiting_.emplace(at->first, at);
}

void SchedulingQueue::put(const PodPtr& pod, const ClusterView& view) {
  const auto [found, is_new] = entries_.try_emplace(key_of(pod->metadata));
  Entry& entry = found->second;
  if (is_new) {
    entry.pod = std::make_shared<const PodInfo>(pod, last_needs_);
    last_needs_ = entry.pod->known_needs();
    entry.since = ++last_;
    entry.came = loop_.now();
    return set_state(found, State::ready);
  }
  const ClusterEvent event{
      .kind = ClusterEvent::Kind::itself_changed, .pod_before = entry.pod->pod, .pod_after = pod};
  // Its turn goes by its priority: it is taken out before that may change.
  const State state = entry.state;
  set_state(found, State::taken);
  entry.pod = std::make_shared<const PodInfo>(pod, *entry.pod);
  const bool woken = state == State::waiting && !asks_the_same(*event.pod_before, *pod) &&
                     may_help(entry, event, view);
  set_state(found, woken ? State::ready : state);
}

std::vector<std::string> SchedulingQueue::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

void SchedulingQueue::drop(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  set_state(found, State::taken);
  entries_.erase(found);
}

std::optional<SchedulingQueue::Taken> SchedulingQueue::take() {
  if (ready_.empty()) return std::nullopt;
  const Entries::iterator best = ready_.begin()->second;
  set_state(best, State::taken);
  Entry& entry = best->second;
  return Taken{best->first, entry.pod, ++entry.attempts, entry.context};
}

void SchedulingQueue::wait(const std::string& key, std::set<std::string_view> refused_by) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  set_state(found, State::waiting);
  found->second.since = ++last_;
  found->second.refused_by = std::move(refused_by);
}

void SchedulingQueue::wake(const std::string& key) {
  if (const auto found = entries_.find(key); found != entries_.end())
    set_state(found, State::ready);
}

void SchedulingQueue::activate(const std::string& key) {
  if (const auto found = entries_.find(key);
      found != entries_.end() && found->second.state == State::waiting)
    set_state(found, State::ready);
}

void SchedulingQueue::happened(const ClusterEvent& event, const ClusterView& view) {
  std::vector<Entries::iterator> woken;
  for (const auto& [key, at] : waiting_)
    if (may_help(at->second, event, view)) woken.push_back(at);
  for (const Entries::iterator at : woken) set_state(at, State::ready);
}

bool SchedulingQueue::may_help(const Entry& entry, const ClusterEvent& event,
                               const ClusterView& view) {
  if (entry.refused_by.empty()) return true;
  // A plugin and no filter: it looks at no node (scheduler-plugins, EventsToRegister).
  if (entry.refused_by.contains(Coscheduling::plugin) &&
      (event.kind == ClusterEvent::Kind::pod_placed ||
       event.kind == ClusterEvent::Kind::group_changed))
    return true;
  return std::any_of(filters().begin(), filters().end(), [&](const Filter& filter) {
    return entry.refused_by.contains(filter.name) && filter.may_help(*entry.pod, event, view);
  });
}

}  // namespace ddptwin::scheduler
