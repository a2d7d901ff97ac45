#include "core/virtual_loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/trace.hpp"

namespace ddptwin::virtual_loop_test {
namespace {

constexpr Time start{std::chrono::seconds(100)};

TEST(VirtualLoop, one_lane_keeps_its_order_under_every_seed) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    VirtualLoop loop(Random(seed), start);
    const Lane a = loop.new_lane(), b = loop.new_lane();
    std::string of_a, of_b;
    for (const char c : {'1', '2', '3'}) {
      loop.post(a, [&of_a, c] { of_a += c; });
      loop.post(b, [&of_b, c] { of_b += c; });
    }
    EXPECT_TRUE(loop.drain());
    EXPECT_EQ(of_a, "123");
    EXPECT_EQ(of_b, "123");
  }
}

std::string order(std::uint64_t seed) {
  VirtualLoop loop(Random(seed), start);
  std::string text;
  for (char c = 'a'; c < 'h'; ++c) loop.post(loop.new_lane(), [&text, c] { text += c; });
  loop.drain();
  return text;
}

TEST(VirtualLoop, the_seed_decides_between_lanes_and_repeats) {
  EXPECT_EQ(order(7), order(7));
  bool differs = false;
  for (std::uint64_t seed = 1; seed < 10; ++seed) differs |= order(seed) != order(0);
  EXPECT_TRUE(differs);
}

TEST(VirtualLoop, fifo_runs_what_became_ready_first) {
  VirtualLoop loop(Random(3), start, VirtualLoop::Order::fifo);
  std::string text;
  for (char c = 'a'; c < 'f'; ++c) loop.post(loop.new_lane(), [&text, c] { text += c; });
  loop.drain();
  EXPECT_EQ(text, "abcde");
}

TEST(VirtualLoop, time_jumps_to_the_next_timer_and_stands_still_inside) {
  VirtualLoop loop(Random(1), start);
  Time seen;
  const Timer timer = loop.after(loop.new_lane(), 5s, [&] { seen = loop.now(); });
  EXPECT_TRUE(timer.pending());
  EXPECT_TRUE(loop.step());
  EXPECT_EQ(seen, start + 5s);
  EXPECT_FALSE(timer.pending());
  EXPECT_FALSE(loop.step());
}

TEST(VirtualLoop, the_end_of_a_timer_cancels_it) {
  VirtualLoop loop(Random(1), start);
  bool ran = false;
  {
    const Timer timer = loop.after(loop.new_lane(), 1s, [&] { ran = true; });
  }
  loop.run_until(start + 10s);
  EXPECT_FALSE(ran);
  EXPECT_EQ(loop.now(), start + 10s);
}

TEST(VirtualLoop, a_posted_callback_never_runs_inside_post) {
  VirtualLoop loop(Random(1), start);
  bool ran = false;
  loop.post(loop.new_lane(), [&] { ran = true; });
  EXPECT_FALSE(ran);
  loop.drain();
  EXPECT_TRUE(ran);
}

TEST(VirtualLoop, callbacks_own_what_cannot_be_copied) {
  VirtualLoop loop(Random(1), start);
  int got = 0;
  loop.post(loop.new_lane(), [&got, owned = std::make_unique<int>(4)] { got = *owned; });
  loop.drain();
  EXPECT_EQ(got, 4);
}

// Against a list that is searched: many timers, most of them cancelled, slots used again.
TEST(VirtualLoop, timers_come_by_time_and_then_in_the_order_of_their_making) {
  VirtualLoop loop(Random(1), start, VirtualLoop::Order::fifo);
  Random random(8);
  const Lane lane = loop.new_lane();
  std::vector<std::pair<Time, int>> wanted, ran;
  std::vector<std::pair<int, Timer>> timers;
  for (int i = 0; i < 5000; ++i) {
    const Time due = start + Duration(static_cast<std::int64_t>(random.below(300)));
    timers.emplace_back(i,
                        loop.at(lane, due, [&ran, &loop, i] { ran.emplace_back(loop.now(), i); }));
    wanted.emplace_back(due, i);
    if (!random.chance(0.8)) continue;
    const auto at = static_cast<std::ptrdiff_t>(random.below(timers.size()));
    std::erase_if(wanted, [&](const auto& one) { return one.second == timers[at].first; });
    timers.erase(timers.begin() + at);
  }
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(loop.next_timer(), wanted.front().first);
  loop.run_until(start + 1s);
  EXPECT_EQ(ran, wanted);
}

TEST(Trace, records_that_nobody_wants_count_all_the_same) {
  VirtualLoop loop(Random(1), start);
  Trace trace(loop);
  std::vector<std::uint64_t> ids;
  trace.add_sink([&](const Record& record) { ids.push_back(record.id); }, {RecordKind::note});
  EXPECT_TRUE(trace.wants(RecordKind::note));
  EXPECT_FALSE(trace.wants(RecordKind::rule));
  trace.write({.kind = RecordKind::rule});
  EXPECT_EQ(trace.skip(), 2U);
  trace.write({.text = "third"});
  EXPECT_EQ(ids, std::vector<std::uint64_t>{3});
}

TEST(Trace, a_record_is_the_cause_of_what_its_callback_posts) {
  VirtualLoop loop(Random(1), start);
  Trace trace(loop);
  std::vector<std::uint64_t> causes;
  trace.add_sink([&](const Record& record) { causes.push_back(record.cause); });
  const Lane lane = loop.new_lane();
  Timer later;
  loop.post(lane, [&] {
    trace.write({.text = "first"});
    later = loop.after(lane, 1s, [&] { trace.write({.text = "third"}); });
  });
  loop.post(lane, [&] { trace.write({.text = "second"}); });
  loop.run_until(start + 2s);
  EXPECT_EQ(causes, (std::vector<std::uint64_t>{0, 0, 1}));
}

TEST(Trace, what_is_done_in_a_scope_is_no_cause_of_what_comes_after_it) {
  VirtualLoop loop(Random(1), start);
  Trace trace(loop);
  std::vector<std::uint64_t> causes;
  trace.add_sink([&](const Record& record) { causes.push_back(record.cause); });
  loop.post(loop.new_lane(), [&] {
    trace.write({.text = "what both follow from"});
    for (int i = 0; i < 2; ++i) {
      const ContextScope of_this_one(loop);
      trace.write({});
      trace.write({.text = "what follows from it"});
    }
    const ContextScope kept(loop, 3);
    trace.write({.text = "what was asked for then"});
  });
  loop.run_until(start);
  EXPECT_EQ(causes, (std::vector<std::uint64_t>{0, 1, 2, 1, 4, 3}));
  EXPECT_EQ(loop.context(), 0U);  // what comes in from outside has none
}

TEST(Trace, what_nobody_could_hear_is_kept_for_who_comes_first) {
  VirtualLoop loop(Random(1), start);
  Trace trace(loop);
  for (int i = 0; i < 100; ++i) trace.write({.text = std::string_view("its author's")});
  ASSERT_LT(trace.unheard().size(), 100U);  // of a world that nobody listens to not all
  EXPECT_EQ(trace.unheard().front().id, 1U);
  EXPECT_EQ(trace.unheard().front().text, "");
  const std::size_t before = trace.unheard().size();
  trace.add_sink([](const Record&) {});
  trace.write({});
  EXPECT_EQ(trace.unheard().size(), before);
}

TEST(Random, a_stream_depends_on_its_name_and_not_on_draws) {
  Random root(9);
  const std::uint64_t before = root.split("scheduler").next();
  root.next();
  EXPECT_EQ(root.split("scheduler").next(), before);
  EXPECT_NE(root.split("kubelet").next(), before);
}

TEST(Random, below_stays_below_and_reaches_all) {
  Random random(5);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_GT(count, 800);
}

}  // namespace
}  // namespace ddptwin::virtual_loop_test
