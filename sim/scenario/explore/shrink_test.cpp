#include "scenario/explore/shrink.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenario/language/fault_yaml.hpp"

namespace ddptwin::scenario::shrink_test {
namespace {

Fault fault(FaultKind kind, std::optional<std::int64_t> nth = std::nullopt) {
  Fault made;
  made.kind = kind;
  made.nth = nth;
  return made;
}

bool has(const FaultPlan& plan, const std::function<bool(const Fault&)>& wanted) {
  return std::any_of(plan.faults.begin(), plan.faults.end(), wanted);
}

FaultPlan crowd() {
  FaultPlan plan;
  for (int i = 0; i < 9; ++i) plan.faults.push_back(fault(FaultKind::watch_delay, 50 + i));
  Fault crash = fault(FaultKind::controller_crash, 47);
  crash.of = "training-operator";
  crash.lasts = 90s;
  Fault lost = fault(FaultKind::api_lost_reply, 31);
  lost.delay = 1500ms;
  lost.at = 73s;
  plan.faults.insert(plan.faults.begin() + 3, crash);
  plan.faults.insert(plan.faults.begin() + 7, lost);
  return plan;
}

TEST(Shrink, finds_the_two_faults_and_their_least_numbers) {
  // The planted bug: a crash at or after write 12 for at least 7 s, with a lost reply from 20 s on.
  const Fails fails = [](const FaultPlan& plan) {
    return has(plan,
               [](const Fault& f) {
                 return f.kind == FaultKind::controller_crash && f.nth.value_or(1) >= 12 &&
                        f.lasts.value_or(0s) >= 7s;
               }) &&
           has(plan, [](const Fault& f) {
             return f.kind == FaultKind::api_lost_reply && f.at.value_or(0s) >= 20s;
           });
  };
  const Shrunk shrunk = shrink(crowd(), fails);
  ASSERT_TRUE(shrunk.minimal);
  ASSERT_EQ(shrunk.plan.faults.size(), 2U);
  EXPECT_EQ(to_yaml(shrunk.plan.faults[0]),
            "{controller: crash, of: training-operator, nth: 12, for: 7s}");
  EXPECT_EQ(to_yaml(shrunk.plan.faults[1]), "{api: lostReply, at: 20s}");
  EXPECT_LT(shrunk.runs, 200U);
}

// Its file would be refused.
TEST(Shrink, no_fault_is_made_to_last_nothing_but_of_a_process_that_begins_anew) {
  Fault cut = fault(FaultKind::link_drop, 1);
  Fault down = fault(FaultKind::scheduler_down, 1);
  cut.lasts = down.lasts = 90s;
  const auto to_nothing = [](const Fault& of) {
    const auto found = simpler(of);
    return std::any_of(found.begin(), found.end(),
                       [](const Fault& f) { return f.lasts == Duration(0s); });
  };
  EXPECT_FALSE(to_nothing(cut));
  EXPECT_TRUE(to_nothing(down));
}

TEST(Shrink, a_plan_that_fails_by_itself_becomes_empty) {
  const Shrunk shrunk = shrink(crowd(), [](const FaultPlan&) { return true; });
  EXPECT_TRUE(shrunk.plan.faults.empty());
  EXPECT_TRUE(shrunk.minimal);
}

TEST(Shrink, what_is_left_is_minimal_for_every_single_nth) {
  for (std::int64_t least = 1; least <= 40; ++least) {
    FaultPlan plan;
    plan.faults = {fault(FaultKind::kubelet_restart, 40)};
    const Shrunk shrunk = shrink(plan, [&](const FaultPlan& p) {
      return has(p, [&](const Fault& f) { return f.nth.value_or(0) >= least; });
    });
    EXPECT_EQ(shrunk.plan.faults.at(0).nth, least);
    EXPECT_TRUE(shrunk.minimal);
  }
}

TEST(Shrink, ends_where_the_tries_run_out) {
  const Shrunk shrunk = shrink(
      crowd(), [](const FaultPlan& p) { return !p.faults.empty(); }, 3);
  EXPECT_EQ(shrunk.runs, 3U);
  EXPECT_FALSE(shrunk.minimal);
  EXPECT_FALSE(shrunk.plan.faults.empty());
}

TEST(Shrink, every_chain_of_simpler_faults_ends) {
  for (const Fault& start : crowd().faults) {
    Fault now = start;
    int length = 0;
    // The least bold each time: the longest chain.
    for (auto next = simpler(now); !next.empty(); next = simpler(now)) {
      now = next.back();
      ASSERT_LT(++length, 200000) << to_yaml(now);
    }
  }
}

}  // namespace
}  // namespace ddptwin::scenario::shrink_test
