#include "controller/work_queue.hpp"

#include <gtest/gtest.h>

#include "core/virtual_loop.hpp"

namespace ddptwin::controller::work_queue_test {
namespace {

struct WorkQueueTest : ::testing::Test {
  VirtualLoop loop{Random(1), Time(), VirtualLoop::Order::fifo};
  int woken = 0;
  WorkQueue queue{loop, RateLimits{}, [this] { ++woken; }};

  // When the key comes out again after a failure, from now.
  Duration delay_after_failure() {
    const Time before = loop.now();
    queue.add_rate_limited("k");
    while (queue.empty()) EXPECT_TRUE(loop.step());
    queue.done(*queue.take());
    return loop.now() - before;
  }
};

TEST_F(WorkQueueTest, a_key_is_queued_once_however_often_it_is_added) {
  queue.add("k");
  queue.add("k");
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(queue.take()->key(), "k");
  EXPECT_EQ(queue.take(), nullptr);
}

TEST_F(WorkQueueTest, a_key_added_while_in_hand_is_queued_again_by_done) {
  queue.add("k");
  WorkQueue::Entry& taken = *queue.take();
  queue.add("k");
  EXPECT_TRUE(queue.empty());
  queue.done(taken);
  EXPECT_EQ(queue.take()->key(), "k");
}

// Of the state that a key is planned on its newest change is the cause.
TEST_F(WorkQueueTest, a_key_has_the_context_of_its_newest_addition) {
  for (const std::uint64_t context : {7, 8}) {
    const ContextScope of_a_change(loop, context);
    queue.add("a");
    queue.add("b");
  }
  {
    const ContextScope of_a_change(loop, 9);
    queue.add("b");
  }
  WorkQueue::Entry& a = *queue.take();
  EXPECT_EQ(a.context(), 8U);
  EXPECT_EQ(queue.take()->context(), 9U);
  {
    const ContextScope of_a_change(loop, 10);
    queue.add_after("a", 1s);
  }
  while (queue.empty()) {
    if (!loop.step()) break;
    if (loop.now() >= Time() + 1s) queue.done(a);
  }
  EXPECT_EQ(queue.take()->context(), 10U);
}

TEST_F(WorkQueueTest, keys_come_out_in_the_order_of_their_adding) {
  queue.add("b");
  queue.add("a");
  EXPECT_EQ(queue.take()->key(), "b");
  EXPECT_EQ(queue.take()->key(), "a");
}

// Entries are given to other keys, those of keys in hand and of queued ones never.
TEST_F(WorkQueueTest, many_keys_come_and_go) {
  queue.add("held");
  WorkQueue::Entry& held = *queue.take();
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "k" + std::to_string(i), again = "k" + std::to_string(i / 2);
    queue.add(key);
    queue.add(again);
    queue.add(key);
    for (const std::string& next : i == 0 ? std::vector{key} : std::vector{key, again}) {
      WorkQueue::Entry& taken = *queue.take();
      EXPECT_EQ(taken.key(), next);
      queue.done(taken);
    }
    EXPECT_TRUE(queue.empty());
  }
  EXPECT_EQ(held.key(), "held");
  queue.add("held");
  EXPECT_TRUE(queue.empty());
  queue.done(held);
  EXPECT_EQ(queue.take()->key(), "held");
}

TEST_F(WorkQueueTest, a_key_is_the_same_in_parts_and_whole) {
  queue.add(KeyParts{"ns", "name"});
  queue.add("ns/name");
  queue.add(KeyParts{{}, "name"});
  queue.add(KeyParts{"n", "s/name"});
  EXPECT_EQ(queue.take()->key(), "ns/name");
  EXPECT_EQ(queue.take()->key(), "name");
  EXPECT_EQ(queue.take()->key(), "n/s/name");
  EXPECT_EQ(queue.take(), nullptr);
}

TEST_F(WorkQueueTest, of_two_delays_the_earlier_end_holds) {
  queue.add_after("k", 5s);
  queue.add_after("k", 2s);
  queue.add_after("k", 9s);
  loop.run_until(Time(2s));
  WorkQueue::Entry& taken = *queue.take();
  EXPECT_EQ(taken.key(), "k");
  queue.done(taken);
  loop.run_until(Time(20s));
  EXPECT_TRUE(queue.empty());
}

TEST_F(WorkQueueTest, back_off_doubles_from_5_ms_and_is_forgotten) {
  EXPECT_EQ(delay_after_failure(), 5ms);
  EXPECT_EQ(delay_after_failure(), 10ms);
  EXPECT_EQ(delay_after_failure(), 20ms);
  queue.forget("k");
  EXPECT_EQ(delay_after_failure(), 5ms);
}

TEST_F(WorkQueueTest, back_off_ends_at_1000_s) {
  for (int i = 0; i < 30; ++i) delay_after_failure();
  EXPECT_EQ(delay_after_failure(), 1000s);
}

TEST_F(WorkQueueTest, clear_forgets_delays_too) {
  queue.add("a");
  queue.add_after("b", 1s);
  queue.clear();
  loop.run_until(Time(5s));
  EXPECT_TRUE(queue.empty());
}

TEST(TokenBucket, a_burst_is_free_and_then_each_token_takes_its_time) {
  TokenBucket bucket(20, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.reserve(Time(1s)), 0s);
  EXPECT_EQ(bucket.reserve(Time(1s)), 50ms);
  EXPECT_EQ(bucket.reserve(Time(1s)), 100ms);
  EXPECT_EQ(bucket.reserve(Time(60s)), 0s);
}

TEST(TokenBucket, a_rate_of_zero_is_no_limit) {
  TokenBucket bucket(0, 0);
  EXPECT_EQ(bucket.reserve(Time(1s)), 0s);
}

}  // namespace
}  // namespace ddptwin::controller::work_queue_test
