#include "runtime/model/torchrun/rendezvous.hpp"

#include <fmt/format.h>

#include "core/numbers.hpp"

namespace ddptwin::torchrun {
namespace {

// An agent that has missed the join timeout may still take its name off for so long; later its
// lease does.
constexpr Duration rollback_period = 5s;

bool heartbeat_is_due(const RendezvousState& state, const NodeId& node,
                      const RendezvousSettings& settings, Time now) {
  const auto last = state.last_heartbeats.find(node);
  return last != state.last_heartbeats.end() && last->second <= now - settings.keep_alive_interval;
}

Action decide_late(const RendezvousState& state, const NodeId& node, Time deadline, Time now) {
  if (now <= deadline + rollback_period) {
    if (state.participants.contains(node)) return Action::remove_from_participants;
    if (state.wait_list.contains(node)) return Action::remove_from_wait_list;
  }
  return Action::error_timeout;
}

Action decide_join(const RendezvousState& state, const NodeId& node,
                   const RendezvousSettings& settings, Time deadline, Time now) {
  if (state.closed) return Action::error_closed;
  const bool participates = state.participants.contains(node);
  if (state.complete && participates) return Action::finish;
  if (now > deadline) return decide_late(state, node, deadline, now);
  const auto count = static_cast<int>(state.participants.size());
  if (state.complete) {
    if (count < settings.max_nodes && !state.wait_list.contains(node))
      return Action::add_to_wait_list;
  } else if (!participates) {
    return Action::add_to_participants;
  } else if (count >= settings.min_nodes && state.deadline && *state.deadline < now) {
    return Action::mark_complete;
  }
  return heartbeat_is_due(state, node, settings, now) ? Action::keep_alive : Action::sync;
}

void complete(RendezvousState& state) {
  state.complete = true;
  state.deadline.reset();
  int rank = 0;
  for (auto& [node, group_rank] : state.participants) group_rank = rank++;
}

// A round ends with its last participant; an open one has its last call only while it has enough.
void after_removal(RendezvousState& state, const RendezvousSettings& settings) {
  if (state.complete) {
    if (!state.participants.empty()) return;
    state.complete = false;
    ++state.round;
  } else if (static_cast<int>(state.participants.size()) < settings.min_nodes) {
    state.deadline.reset();
  }
}

void add_participant(RendezvousState& state, const NodeId& node, const RendezvousSettings& settings,
                     Time now) {
  state.participants.insert_or_assign(node, 0);
  state.wait_list.erase(node);
  state.last_heartbeats.insert_or_assign(node, now);
  const auto count = static_cast<int>(state.participants.size());
  if (count == settings.min_nodes) state.deadline = now + settings.last_call;
  if (count == settings.max_nodes) complete(state);
}

// Cuts the text before the separator off.
std::string_view next_part(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

// Blank-separated words; what is missing or no number makes it ill-formed.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  std::string_view word() {
    const std::string_view word = next_part(text_, ' ');
    well_formed_ = well_formed_ && !word.empty();
    return word;
  }
  std::int64_t number() {
    const auto value = whole_number<std::int64_t>(word());
    well_formed_ = well_formed_ && value;
    return value.value_or(0);
  }
  bool well_formed() const { return well_formed_; }

 private:
  std::string_view text_;
  bool well_formed_ = true;
};

}  // namespace

Action decide(Operation operation, const RendezvousState& state, const NodeId& node,
              const RendezvousSettings& settings, Time deadline, Time now) {
  switch (operation) {
    case Operation::exit:
      if (!state.participants.contains(node)) return Action::finish;
      return now > deadline ? Action::error_timeout : Action::remove_from_participants;
    case Operation::join:
      return decide_join(state, node, settings, deadline, now);
    case Operation::close:
      if (state.closed) return Action::finish;
      return now > deadline ? Action::error_timeout : Action::mark_closed;
    case Operation::keep_alive:
      if (!heartbeat_is_due(state, node, settings, now)) return Action::finish;
      return now > deadline ? Action::error_timeout : Action::keep_alive;
  }
  return Action::finish;
}

RendezvousState applied(Action action, RendezvousState state, const NodeId& node,
                        const RendezvousSettings& settings, Time now) {
  switch (action) {
    case Action::keep_alive:
      state.last_heartbeats.insert_or_assign(node, now);
      break;
    case Action::add_to_participants:
      add_participant(state, node, settings, now);
      break;
    case Action::add_to_wait_list:
      state.wait_list.insert(node);
      state.last_heartbeats.insert_or_assign(node, now);
      break;
    case Action::remove_from_participants:
      state.participants.erase(node);
      state.last_heartbeats.erase(node);
      after_removal(state, settings);
      break;
    case Action::remove_from_wait_list:
      state.wait_list.erase(node);
      state.last_heartbeats.erase(node);
      break;
    case Action::mark_complete:
      complete(state);
      break;
    case Action::mark_closed:
      state.closed = true;
      break;
    case Action::sync:
    case Action::error_closed:
    case Action::error_timeout:
    case Action::finish:
      break;
  }
  return state;
}

RendezvousState without_dead(RendezvousState state, const RendezvousSettings& settings, Time now) {
  const Time expiry = now - settings.keep_alive_interval * settings.keep_alive_misses;
  bool removed = false;
  for (auto it = state.last_heartbeats.begin(); it != state.last_heartbeats.end();) {
    if (it->second >= expiry) {
      ++it;
      continue;
    }
    removed = state.participants.erase(it->first) > 0 || removed;
    state.wait_list.erase(it->first);
    it = state.last_heartbeats.erase(it);
  }
  if (removed) after_removal(state, settings);
  return state;
}

std::string encode(const RendezvousState& state) {
  std::string out = fmt::format("{} {:d} {:d}", state.round, state.complete, state.closed);
  if (state.deadline) out += fmt::format(";d {}", state.deadline->since_epoch().count());
  const auto add = [&](char kind, const NodeId& node, std::int64_t number) {
    out += fmt::format(";{} {} {} {} {}", kind, node.address, node.pid, node.local_id, number);
  };
  for (const auto& [node, rank] : state.participants) add('p', node, rank);
  for (const NodeId& node : state.wait_list) add('w', node, 0);
  for (const auto& [node, time] : state.last_heartbeats) add('h', node, time.since_epoch().count());
  return out;
}

std::optional<RendezvousState> decode(std::string_view text) {
  Words head(next_part(text, ';'));
  RendezvousState out{};
  out.round = static_cast<int>(head.number());
  out.complete = head.number() != 0;
  out.closed = head.number() != 0;
  if (!head.well_formed()) return std::nullopt;
  while (!text.empty()) {
    Words words(next_part(text, ';'));
    const std::string_view kind = words.word();
    if (kind == "d") {
      out.deadline = Time(Duration(words.number()));
      if (!words.well_formed()) return std::nullopt;
      continue;
    }
    NodeId node{};
    node.address = words.word();
    node.pid = static_cast<int>(words.number());
    node.local_id = static_cast<int>(words.number());
    const std::int64_t number = words.number();
    if (!words.well_formed()) return std::nullopt;
    if (kind == "p")
      out.participants.emplace(std::move(node), static_cast<int>(number));
    else if (kind == "w")
      out.wait_list.insert(std::move(node));
    else
      out.last_heartbeats.emplace(std::move(node), Time(Duration(number)));
  }
  return out;
}

}  // namespace ddptwin::torchrun
