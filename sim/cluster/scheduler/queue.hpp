// Pods that wait for a node: those to be tried, and those for which something must happen first.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/scheduler/filters.hpp"
#include "core/loop.hpp"

namespace ddptwin::scheduler {

// Of those to be tried the highest priority comes first, then who has waited longest since it was
// last tried. Trying an unschedulable pod again costs no back-off where the queue is otherwise
// empty, which here is nearly always (SchedulerPopFromBackoffQ); after a failed call to the API
// the caller delays it. Source: spec/kubernetes.md §3.1, §3.2.
//
// Each keeps the context under which it came to be tried last: what it is tried for.
class SchedulingQueue {
 public:
  // Of pods of one priority who has the earlier time comes first (a plugin's QueueSort). It is
  // given the pod and when that came.
  using TurnOf = std::function<Time(const Pod& pod, Time came)>;

  explicit SchedulingQueue(const Loop& loop, TurnOf turn_of = nullptr)
      : loop_(loop), turn_of_(std::move(turn_of)) {}

  // New, or known and changed. A change wakes it only where a filter that refused it thinks so.
  void put(const PodPtr& pod, const ClusterView& view);
  void drop(const std::string& key);

  struct Taken {
    std::string key;
    PodInfoPtr pod;
    int attempts;           // this one included
    std::uint64_t context;  // that it came to be tried under
  };
  // The next to be tried; it stays known, neither waiting nor to be tried, until put back.
  std::optional<Taken> take();
  // It fitted nowhere, and these filters said so; none: anything that happens may help.
  void wait(const std::string& key, std::set<std::string_view> refused_by);
  // To be tried again now.
  void wake(const std::string& key);
  // The same of one that waits for something to happen; another is left alone.
  void activate(const std::string& key);
  // Wakes those whom the event may help.
  void happened(const ClusterEvent& event, const ClusterView& view);

  std::vector<std::string> keys() const;
  bool contains(const std::string& key) const { return entries_.contains(key); }
  bool has_ready() const { return !ready_.empty(); }

 private:
  enum class State : std::uint8_t { ready, taken, waiting };
  struct Entry {
    PodInfoPtr pod;
    State state = State::ready;
    std::uint64_t since = 0;  // order, not time
    Time came{};
    Time plugin_turn{};  // as of when it became ready; where there is no plugin, nothing
    std::uint64_t context = 0;
    int attempts = 0;
    std::set<std::string_view> refused_by{};
  };
  using Entries = std::map<std::string, Entry>;
  // The greater priority first, then what a plugin says, then what is older.
  using Turn = std::tuple<std::int64_t, Time, std::uint64_t>;
  static Turn turn_of(const Entry& entry) {
    return {-std::int64_t{entry.pod->priority}, entry.plugin_turn, entry.since};
  }
  static bool may_help(const Entry& entry, const ClusterEvent& event, const ClusterView& view);
  void set_state(Entries::iterator at, State state);

  const Loop& loop_;
  const TurnOf turn_of_;
  Entries entries_{};
  std::map<Turn, Entries::iterator> ready_{};
  std::map<std::string_view, Entries::iterator> waiting_{};  // by the key of the entry
  std::uint64_t last_ = 0;
  // Of the pod that came last. Pods of one job ask for the same, mostly.
  KnownNeeds last_needs_{};
};

}  // namespace ddptwin::scheduler
