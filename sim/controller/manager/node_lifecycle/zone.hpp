// How fast the pods of a zone's lost nodes are given up (spec/kubernetes.md §2.12, "Zone-wide
// outages").
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "objects/core_v1.hpp"

namespace ddptwin::node_lifecycle {

enum class ZoneState : std::uint8_t { initial, normal, partial_disruption, full_disruption };

// The nodes of a zone at one look, those that somebody keeps out of it not counted.
struct ZoneCount {
  int ready = 0;
  int not_ready = 0;
};
// More than two nodes that are not Ready and 55 % of all are a partial disruption, all of them a
// full one. Source: ComputeZoneState upstream, --unhealthy-zone-threshold.
ZoneState state_of(const ZoneCount& count);

// Region and zone of a node by its labels; nodes without them are of one zone.
std::string zone_of(const Node& node);

// The nodes of a zone that wait for their NoExecute taint: one every ten seconds, one every
// hundred in a large zone that is partly lost, none in a small one (--node-eviction-rate,
// --secondary-node-eviction-rate, --large-cluster-size-threshold).
class EvictionQueue {
 public:
  ZoneState state() const { return state_; }
  // The rate follows. In a cluster that is lost as a whole nobody is evicted.
  void set_state(ZoneState state, std::size_t nodes);
  void stop_all() { interval_.reset(); }

  // A node is taken once until it is removed, done or not. `context` is what became of it.
  void add(const std::string& node, std::uint64_t context);
  void remove(const std::string& node);
  // Those that were added and not removed.
  const std::set<std::string, std::less<>>& nodes() const { return taken_; }

  struct Entry {
    std::string node{};
    std::uint64_t context = 0;
  };
  // The next node whose turn it is now, which uses up the turn.
  std::optional<Entry> take(Time now);
  // A write that failed: it is the first again.
  void put_back(Entry entry);
  // When the next turn is; nothing: nobody waits, or nobody's turn comes.
  std::optional<Time> next_turn(Time now) const;

 private:
  ZoneState state_ = ZoneState::initial;
  std::optional<Duration> interval_{};
  Time turn_{};
  std::deque<Entry> waiting_{};
  std::set<std::string, std::less<>> taken_{};
};

}  // namespace ddptwin::node_lifecycle
