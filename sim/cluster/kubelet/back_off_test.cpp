#include "cluster/kubelet/back_off.hpp"

#include <gtest/gtest.h>

namespace ddptwin::kubelet::back_off_test {
namespace {

Time at(int seconds) { return Time(std::chrono::seconds(1000000 + seconds)); }

TEST(BackOff, the_first_failure_waits_for_nothing) {
  const BackOff delays(10s, 300s);
  EXPECT_FALSE(delays.waits_since("c", at(0), at(0)));
  EXPECT_FALSE(delays.waits("c", at(0)));
}

TEST(BackOff, delays_double_up_to_the_longest) {
  BackOff delays(10s, 300s);
  Time now = at(0);
  for (const int wanted : {10, 20, 40, 80, 160, 300, 300}) {
    delays.next("c", now, now);
    EXPECT_EQ(delays.delay("c"), std::chrono::seconds(wanted));
    EXPECT_TRUE(delays.waits_since("c", now, now + delays.delay("c") - 1ns));
    EXPECT_FALSE(delays.waits_since("c", now, now + delays.delay("c")));
    now = now + delays.delay("c");
  }
}

TEST(BackOff, a_long_run_begins_anew) {
  BackOff delays(10s, 300s);
  delays.next("c", at(0), at(0));
  delays.next("c", at(20), at(20));
  // It ended more than twice the longest delay after the last note.
  EXPECT_FALSE(delays.waits_since("c", at(621), at(621)));
  delays.next("c", at(621), at(621));
  EXPECT_EQ(delays.delay("c"), 10s);
}

TEST(BackOff, keys_do_not_know_each_other) {
  BackOff delays(10s, 300s);
  delays.next("u/a", at(0), at(0));
  delays.next("v/a", at(0), at(0));
  delays.forget("u/");
  EXPECT_FALSE(delays.waits("u/a", at(1)));
  EXPECT_TRUE(delays.waits("v/a", at(1)));
  EXPECT_EQ(delays.ends("v/a"), at(10));
}

}  // namespace
}  // namespace ddptwin::kubelet::back_off_test
