#include "runtime/model/torchrun/rendezvous.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/torchrun/messages.hpp"
#include "runtime/model/torchrun/workers.hpp"

namespace ddptwin::torchrun::rendezvous_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

const NodeId a{"pod-0", 1, 0};
const NodeId b{"pod-1", 1, 0};
const NodeId late{"pod-2", 1, 0};
const RendezvousSettings one_to_three{1, 3, 30s, 5s, 3};
const RendezvousSettings two_of_two{2, 2, 30s, 5s, 3};

Time at(Duration since) { return Time(1000s + since); }
const Time deadline = at(600s);

// Joins until the node has to wait or is done.
RendezvousState joined(RendezvousState state, const NodeId& node,
                       const RendezvousSettings& settings, Time now) {
  for (;;) {
    const Action action = decide(Operation::join, state, node, settings, deadline, now);
    if (action == Action::sync || action == Action::finish) return state;
    state = applied(action, std::move(state), node, settings, now);
  }
}

TEST(TorchrunRendezvous, is_complete_at_once_when_the_maximum_has_come) {
  RendezvousState state = joined({}, b, two_of_two, at(0s));
  EXPECT_FALSE(state.complete);
  state = joined(state, a, two_of_two, at(1s));
  EXPECT_TRUE(state.complete);
  EXPECT_THAT(state.participants, ElementsAre(Pair(a, 0), Pair(b, 1)));
  EXPECT_EQ(decide(Operation::join, state, b, two_of_two, deadline, at(1s)), Action::finish);
}

TEST(TorchrunRendezvous, ranks_follow_the_order_of_names_as_texts) {
  const RendezvousSettings two{2, 2, 30s, 5s, 3};
  RendezvousState state = joined({}, NodeId{"pod-2", 1, 0}, two, at(0s));
  state = joined(state, NodeId{"pod-10", 1, 0}, two, at(0s));
  EXPECT_EQ(state.participants.begin()->first.address, "pod-10");
  EXPECT_EQ(state.participants.begin()->second, 0);
}

TEST(TorchrunRendezvous, waits_for_the_last_call_when_the_minimum_has_come) {
  RendezvousState state = joined({}, a, one_to_three, at(0s));
  EXPECT_EQ(state.deadline, at(30s));
  state = applied(Action::keep_alive, state, a, one_to_three, at(30s));
  EXPECT_EQ(decide(Operation::join, state, a, one_to_three, deadline, at(30s)), Action::sync);
  EXPECT_EQ(decide(Operation::join, state, a, one_to_three, deadline, at(30s) + Duration(1)),
            Action::mark_complete);
}

TEST(TorchrunRendezvous, puts_a_newcomer_on_the_wait_list_while_there_is_room) {
  RendezvousState full = joined(joined({}, a, two_of_two, at(0s)), b, two_of_two, at(0s));
  EXPECT_EQ(decide(Operation::join, full, late, two_of_two, deadline, at(1s)), Action::sync);
  RendezvousState open = joined({}, a, one_to_three, at(0s));
  open = applied(Action::mark_complete, open, a, one_to_three, at(31s));
  EXPECT_EQ(decide(Operation::join, open, late, one_to_three, deadline, at(31s)),
            Action::add_to_wait_list);
  open = joined(open, late, one_to_three, at(31s));
  EXPECT_THAT(open.wait_list, ElementsAre(late));
}

TEST(TorchrunRendezvous, begins_the_next_round_when_the_last_participant_has_left) {
  RendezvousState state = joined(joined({}, a, two_of_two, at(0s)), b, two_of_two, at(0s));
  state = applied(Action::remove_from_participants, state, a, two_of_two, at(9s));
  EXPECT_EQ(state.round, 0);
  EXPECT_TRUE(state.complete);
  state = applied(Action::remove_from_participants, state, b, two_of_two, at(9s));
  EXPECT_EQ(state.round, 1);
  EXPECT_FALSE(state.complete);
}

TEST(TorchrunRendezvous, loses_a_node_fifteen_seconds_after_its_last_heartbeat) {
  RendezvousState state = joined(joined({}, a, two_of_two, at(0s)), b, two_of_two, at(0s));
  state = applied(Action::keep_alive, state, a, two_of_two, at(14s));
  EXPECT_EQ(without_dead(state, two_of_two, at(15s)).participants.size(), 2U);
  EXPECT_THAT(without_dead(state, two_of_two, at(15s) + Duration(1)).participants,
              ElementsAre(Pair(a, 0)));
}

TEST(TorchrunRendezvous, forgets_the_last_call_when_too_few_are_left) {
  const RendezvousSettings two_to_three{2, 3, 30s, 5s, 3};
  RendezvousState state = joined(joined({}, a, two_to_three, at(0s)), b, two_to_three, at(1s));
  EXPECT_EQ(state.deadline, at(31s));
  state = applied(Action::remove_from_participants, state, b, two_to_three, at(2s));
  EXPECT_EQ(state.deadline, std::nullopt);
}

struct LateRow {
  std::string name{};
  RendezvousState state{};
  Duration after{};
  Action action{};
};
RendezvousState waiting_for_next() {
  RendezvousState state = joined(joined({}, a, two_of_two, at(0s)), b, two_of_two, at(0s));
  state.wait_list.insert(late);
  return state;
}
class LateJoins : public testing::TestWithParam<LateRow> {};

TEST_P(LateJoins, take_their_name_off_for_five_seconds_and_then_give_up) {
  const LateRow& row = GetParam();
  EXPECT_EQ(decide(Operation::join, row.state, late, one_to_three, deadline, deadline + row.after),
            row.action);
}

INSTANTIATE_TEST_SUITE_P(
    Spec, LateJoins,
    testing::Values(LateRow{"participant", joined({}, late, two_of_two, at(0s)), 1s,
                            Action::remove_from_participants},
                    LateRow{"waiting", waiting_for_next(), 1s, Action::remove_from_wait_list},
                    LateRow{"unknown", {}, 1s, Action::error_timeout},
                    LateRow{"much_too_late", waiting_for_next(), 6s, Action::error_timeout}),
    [](const auto& row) { return row.param.name; });

TEST(TorchrunRendezvous, a_closed_one_takes_nobody) {
  RendezvousState state = applied(Action::mark_closed, {}, a, two_of_two, at(0s));
  EXPECT_EQ(decide(Operation::join, state, b, two_of_two, deadline, at(0s)), Action::error_closed);
  EXPECT_EQ(decide(Operation::close, state, b, two_of_two, deadline, at(0s)), Action::finish);
}

TEST(TorchrunRendezvous, a_heartbeat_is_due_after_its_interval) {
  const RendezvousState state = joined({}, a, one_to_three, at(0s));
  EXPECT_EQ(decide(Operation::keep_alive, state, a, one_to_three, deadline, at(4s)),
            Action::finish);
  EXPECT_EQ(decide(Operation::keep_alive, state, a, one_to_three, deadline, at(5s)),
            Action::keep_alive);
}

TEST(TorchrunRendezvous, a_state_comes_back_from_its_text) {
  RendezvousState state = joined({}, a, one_to_three, at(0s));
  state.wait_list.insert(late);
  state.last_heartbeats.emplace(late, at(3s));
  state.round = 4;
  EXPECT_EQ(decode(encode(state)), state);
  EXPECT_EQ(decode(encode({})), RendezvousState{});
  for (const char* wrong : {"", "x", "1 0", "0 0 0;p pod-0 1", "0 0 0;d soon"})
    EXPECT_EQ(decode(wrong), std::nullopt) << wrong;
}

TEST(TorchrunRanks, are_counted_by_node_and_by_role) {
  const std::vector<std::string> infos{"default 2", "reader 1", "default 3"};
  const auto third = ranks_from(infos, 2);
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->first_rank, 3);
  EXPECT_EQ(third->world_size, 6);
  EXPECT_EQ(third->first_role_rank, 2);
  EXPECT_EQ(third->role_world_size, 5);
  EXPECT_FALSE(ranks_from(infos, 3).has_value());
}

Worker ended_worker(int local_rank, const model::ExitStatus& status, Time time) {
  Worker worker{};
  worker.pid = 100 + local_rank;
  worker.local_rank = local_rank;
  worker.rank = 2 + local_rank;
  worker.ended = status;
  worker.ended_at = time;
  return worker;
}

TEST(ChildFailedError, names_the_first_failure_as_root_cause) {
  const auto lines = child_failed_error("train.py", "pod-1",
                                        {ended_worker(0, {1, 0}, Time(1'795'256'320s)),
                                         ended_worker(1, {0, 9}, Time(1'795'256'318s))});
  EXPECT_THAT(
      lines,
      ElementsAre(
          "============================================================", "train.py FAILED",
          "------------------------------------------------------------",
          "Failures:", "[0]:", "  time      : 2026-11-21_10:18:40", "  host      : pod-1",
          "  rank      : 2 (local_rank: 0)", "  exitcode  : 1 (pid: 100)", "  error_file: <N/A>",
          "  traceback : To enable traceback see: "
          "https://pytorch.org/docs/stable/elastic/errors.html",
          "------------------------------------------------------------",
          "Root Cause (first observed failure):", "[1]:", "  time      : 2026-11-21_10:18:38",
          "  host      : pod-1", "  rank      : 3 (local_rank: 1)", "  exitcode  : -9 (pid: 101)",
          "  error_file: <N/A>", "  traceback : Signal 9 (SIGKILL) received by PID 101",
          "============================================================"));
}

TEST(ChildFailedError, says_when_there_are_no_other_failures) {
  const auto lines = child_failed_error("a.py", "h", {ended_worker(0, {7, 0}, Time(0s))});
  EXPECT_EQ(lines.at(4), "  <NO_OTHER_FAILURES>");
}

}  // namespace
}  // namespace ddptwin::torchrun::rendezvous_test
