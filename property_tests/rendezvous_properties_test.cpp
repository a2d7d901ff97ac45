// torchrun's c10d rendezvous as its agents play it through the store they share
// (spec/ddp-semantics.md §4.2 to §4.4): some come late, some die, at any moment, and some have
// waited for long enough.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "property.hpp"
#include "runtime/model/torchrun/rendezvous.hpp"

namespace ddptwin::property::rendezvous_properties_test {
namespace {

using namespace torchrun;

constexpr Time start{std::chrono::hours(24 * 365 * 50)};
constexpr int seconds = 120;  // of a case

struct Agent {
  int comes = 0, dies = seconds;  // seconds; it looks once in each between them
  int patience = 600;             // for a group that it is in, seconds
};

void showValue(const Agent& agent, std::ostream& out) {
  out << "comes at " << agent.comes << " s, dies at " << agent.dies << " s";
}

// Of any, however few agents there are.
rc::Gen<int> any_second(int end) { return gen::resize(rc::kNominalSize, gen::inRange(0, end)); }

rc::Gen<std::vector<Agent>> any_agents() {
  return gen::resize(
      5, gen::vector_of(gen::build<Agent>(
             gen::set(&Agent::comes, any_second(60)),
             gen::set(&Agent::dies,
                      gen::weightedOneOf<int>({{1, gen::just(seconds)}, {1, any_second(seconds)}})),
             gen::set(&Agent::patience,
                      gen::resize(rc::kNominalSize,
                                  gen::weightedOneOf<int>(
                                      {{1, gen::just(600)}, {1, gen::inRange(5, 60)}}))))));
}

class Game {
 public:
  Game(const std::vector<Agent>& agents, const RendezvousSettings& settings)
      : agents_(agents), settings_(settings) {}

  void play(int second) {
    const Time now = start + std::chrono::seconds(second);
    for (std::size_t i = 0; i < agents_.size(); ++i)
      if (is_alive(i, second)) look(i, now);
    check(second);
    check_last_call(second);
  }

 private:
  // Some have names whose order as texts is not that of their numbers.
  static NodeId node(std::size_t i) { return {"pod-" + std::to_string(i * 5), 1, 0}; }

  // All that one agent does in one look at the store.
  void look(std::size_t i, Time now) {
    const NodeId self = node(i);
    const Time deadline = start + std::chrono::seconds(agents_[i].comes + agents_[i].patience);
    for (;;) {
      state_ = without_dead(std::move(state_), settings_, now);
      const bool is_in = state_.complete && state_.participants.contains(self);
      const Action action = is_in ? decide(Operation::keep_alive, state_, self, settings_,
                                           now + settings_.keep_alive_interval, now)
                                  : decide(Operation::join, state_, self, settings_, deadline, now);
      if (action == Action::error_timeout) {
        RC_ASSERT(now > deadline);
        gave_up_.insert(i);
        break;
      }
      if (action == Action::finish || action == Action::sync) break;
      const bool was_complete = state_.complete;
      state_ = applied(action, std::move(state_), self, settings_, now);
      if (state_.complete && !was_complete) check_new_group();
      const auto read = decode(encode(state_));
      RC_ASSERT(read && *read == state_);
    }
    looked_[self] = now;
    looked_by_any_ = now;
  }

  // Enough of them, and ranks in the order of their names as texts: pod-10 comes before pod-5.
  void check_new_group() const {
    RC_ASSERT(static_cast<int>(state_.participants.size()) >= settings_.min_nodes);
    std::vector<std::string> names(state_.participants.size());
    for (const auto& [one, rank] : state_.participants) {
      RC_ASSERT(0 <= rank && rank < static_cast<int>(names.size()));
      names[static_cast<std::size_t>(rank)] = one.address;
    }
    RC_ASSERT(std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) ==
              names.end());
  }

  bool is_alive(std::size_t i, int second) const {
    return agents_[i].comes <= second && second < agents_[i].dies && !gave_up_.contains(i);
  }

  // Enough agents are a group once their last call is over and one of them looks. It is over so
  // long after there were enough, whoever comes meanwhile.
  void check_last_call(int second) {
    const auto is_gone = [&](const auto& one) { return !state_.participants.contains(one.first); };
    const auto count = static_cast<int>(state_.participants.size());
    if (state_.complete || count < settings_.min_nodes ||
        std::any_of(last_participants_.begin(), last_participants_.end(), is_gone))
      enough_since_ = second;
    last_participants_ = state_.participants;
    bool one_looks = false;
    for (std::size_t i = 0; i < agents_.size(); ++i)
      one_looks = one_looks || (is_alive(i, second) && state_.participants.contains(node(i)));
    if (state_.complete || count < settings_.min_nodes || !one_looks) return;
    RC_ASSERT(std::chrono::seconds(second - enough_since_) <= settings_.last_call + 2s);
  }

  void check(int second) const {
    RC_ASSERT(static_cast<int>(state_.participants.size()) <= settings_.max_nodes);
    const Duration lease = settings_.keep_alive_interval * settings_.keep_alive_misses;
    const auto is_known = [&](const NodeId& one) {
      // Whoever still looks has taken off all whose lease had run out by then.
      RC_ASSERT(looked_by_any_ - looked_.at(one) <= lease);
    };
    for (const auto& [one, rank] : state_.participants) is_known(one);
    for (const NodeId& one : state_.wait_list) {
      is_known(one);
      RC_ASSERT(!state_.participants.contains(one));
    }
    // Who has given up is neither in nor waits: nobody restarts a worker for it.
    for (const std::size_t i : gave_up_)
      RC_ASSERT(!state_.participants.contains(node(i)) && !state_.wait_list.contains(node(i)));
    // Nobody who looks is forgotten, unless the group is full.
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      if (!is_alive(i, second) ||
          static_cast<int>(state_.participants.size()) == settings_.max_nodes)
        continue;
      RC_ASSERT(state_.participants.contains(node(i)) || state_.wait_list.contains(node(i)));
    }
  }

  std::vector<Agent> agents_;
  RendezvousSettings settings_;
  RendezvousState state_{};
  std::map<NodeId, Time> looked_{};  // last
  std::set<std::size_t> gave_up_{};
  Time looked_by_any_{};
  std::map<NodeId, int> last_participants_{};
  int enough_since_ = 0;
};

TEST(RendezvousProperties, WhoLooksIsInAndWhoIsDeadOrGaveUpIsTakenOff) {
  holds([] {
    RendezvousSettings settings;
    settings.min_nodes = *gen::inRange(1, 4).as("min");
    settings.max_nodes = settings.min_nodes + *gen::inRange(0, 3).as("more");
    settings.last_call = *gen::element<Duration>(0s, 10s, 30s).as("last call");
    settings.keep_alive_interval = *gen::element<Duration>(2s, 5s).as("keep alive");
    const auto agents = *any_agents().as("agents");
    Game game(agents, settings);
    for (int second = 0; second < seconds; ++second) game.play(second);
  });
}

// The last call begins with the one who makes them enough, and whoever comes later does not begin
// it anew; who comes to a group waits for the next only where there may be one more (§4.3).
TEST(RendezvousProperties, ALastCallRunsOnceAndAFullGroupHasNobodyWaiting) {
  holds([] {
    RendezvousSettings settings;
    settings.min_nodes = *gen::inRange(1, 4).as("min");
    settings.max_nodes = settings.min_nodes + *gen::inRange(1, 4).as("more");
    settings.last_call = 30s;
    settings.keep_alive_interval = 5s;
    const int joins = *gen::inRange(settings.min_nodes, settings.max_nodes + 1).as("joins");
    const auto node_of = [](int i) { return NodeId{"pod-" + std::to_string(i), 1, 0}; };
    Time now{};
    RendezvousState state;
    std::optional<Time> deadline;
    for (int i = 0; i < joins; ++i) {
      now = now + std::chrono::seconds(*gen::inRange(0, 10));
      RC_ASSERT(decide(Operation::join, state, node_of(i), settings, now + 600s, now) ==
                Action::add_to_participants);
      state = applied(Action::add_to_participants, state, node_of(i), settings, now);
      if (i + 1 == settings.min_nodes) deadline = now + settings.last_call;
      RC_ASSERT(state.complete == (i + 1 == settings.max_nodes));
      if (!state.complete) RC_ASSERT(state.deadline == deadline);
    }
    if (!state.complete) {
      now = *deadline + 1ms;
      RC_ASSERT(decide(Operation::join, state, node_of(0), settings, now + 600s, now) ==
                Action::mark_complete);
      state = applied(Action::mark_complete, state, node_of(0), settings, now);
    }
    const bool waits = decide(Operation::join, state, node_of(joins), settings, now + 600s, now) ==
                       Action::add_to_wait_list;
    RC_ASSERT(waits == (joins < settings.max_nodes));
  });
}

}  // namespace
}  // namespace ddptwin::property::rendezvous_properties_test
