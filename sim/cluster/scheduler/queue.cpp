#include "cluster/scheduler/queue.hpp"

#include <algorithm>

#include "objects/codec.hpp"

namespace ddptwin::scheduler {
namespace {

// Its status is what the scheduler itself writes.
bool asks_the_same(const Pod& before, const Pod& after) {
  return *before.metadata.labels == *after.metadata.labels &&
         (before.spec.same_as(after.spec) || equal(*before.spec, *after.spec));
}

}  // namespace

void SchedulingQueue::put(const PodPtr& pod, const ClusterView& view) {
  auto info = std::make_shared<const PodInfo>(pod);
  const auto [found, is_new] = entries_.try_emplace(key_of(pod->metadata));
  Entry& entry = found->second;
  if (is_new) {
    entry.pod = std::move(info);
    entry.since = ++last_;
    return;
  }
  const ClusterEvent event{
      .kind = ClusterEvent::Kind::itself_changed, .pod_before = entry.pod->pod, .pod_after = pod};
  entry.pod = std::move(info);
  if (entry.state == State::waiting && !asks_the_same(*event.pod_before, *pod) &&
      may_help(entry, event, view))
    entry.state = State::ready;
}

std::optional<SchedulingQueue::Taken> SchedulingQueue::take() {
  auto best = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->second.state != State::ready) continue;
    if (best == entries_.end() ||
        std::pair(-std::int64_t{at->second.pod->priority}, at->second.since) <
            std::pair(-std::int64_t{best->second.pod->priority}, best->second.since))
      best = at;
  }
  if (best == entries_.end()) return std::nullopt;
  best->second.state = State::taken;
  return Taken{best->first, best->second.pod, ++best->second.attempts};
}

void SchedulingQueue::wait(const std::string& key, std::set<std::string_view> refused_by) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  found->second.state = State::waiting;
  found->second.since = ++last_;
  found->second.refused_by = std::move(refused_by);
}

void SchedulingQueue::wake(const std::string& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) found->second.state = State::ready;
}

void SchedulingQueue::wake_all() {
  for (auto& [key, entry] : entries_)
    if (entry.state == State::waiting) entry.state = State::ready;
}

void SchedulingQueue::happened(const ClusterEvent& event, const ClusterView& view) {
  for (auto& [key, entry] : entries_)
    if (entry.state == State::waiting && may_help(entry, event, view)) entry.state = State::ready;
}

bool SchedulingQueue::has_ready() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& item) { return item.second.state == State::ready; });
}

bool SchedulingQueue::may_help(const Entry& entry, const ClusterEvent& event,
                               const ClusterView& view) {
  if (entry.refused_by.empty()) return true;
  return std::any_of(filters().begin(), filters().end(), [&](const Filter& filter) {
    return entry.refused_by.contains(filter.name) && filter.may_help(*entry.pod, event, view);
  });
}

}  // namespace ddptwin::scheduler
