// The c10d rendezvous as values: the state that all agents share through the store, and what one
// agent does next on seeing it. Pure; c10d.cpp carries states to and from the store.
// Source: spec/ddp-semantics.md §4.2 to §4.4, and upstream's dynamic_rendezvous.py for the order of
// the rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/time.hpp"

namespace ddptwin::torchrun {

// An agent. The order of these is the order of group ranks: pod-10 comes before pod-2 (§4.2).
struct NodeId {
  std::string address{};  // FQDN, or --local-addr
  int pid = 0;
  int local_id = 0;
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

struct RendezvousState {
  int round = 0;
  bool complete = false;
  bool closed = false;
  std::optional<Time> deadline{};        // of the last call
  std::map<NodeId, int> participants{};  // to group rank; 0 until complete
  std::set<NodeId> wait_list{};          // for the next round
  std::map<NodeId, Time> last_heartbeats{};
  friend bool operator==(const RendezvousState&, const RendezvousState&) = default;
};

struct RendezvousSettings {
  int min_nodes = 1;
  int max_nodes = 1;
  Duration last_call{};
  Duration keep_alive_interval{};
  int keep_alive_misses = 3;
};

enum class Action : std::uint8_t {
  keep_alive,
  add_to_participants,
  add_to_wait_list,
  remove_from_participants,
  remove_from_wait_list,
  mark_complete,
  mark_closed,
  sync,  // look again after the poll interval
  error_closed,
  error_timeout,
  finish,
};

enum class Operation : std::uint8_t { exit, join, close, keep_alive };

// What `node` does next to complete `operation` before `deadline`.
Action decide(Operation operation, const RendezvousState& state, const NodeId& node,
              const RendezvousSettings& settings, Time deadline, Time now);

// The state after an action that changes it; for the others the same state.
RendezvousState applied(Action action, RendezvousState state, const NodeId& node,
                        const RendezvousSettings& settings, Time now);

// Without the nodes whose last heartbeat is older than interval x misses: what each agent makes of
// a state it has read.
RendezvousState without_dead(RendezvousState state, const RendezvousSettings& settings, Time now);

// As the store keeps it. Nothing: not a text of encode(), so some other program's.
std::string encode(const RendezvousState& state);
std::optional<RendezvousState> decode(std::string_view text);

}  // namespace ddptwin::torchrun
