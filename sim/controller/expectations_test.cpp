#include "controller/expectations.hpp"

#include <gtest/gtest.h>

namespace ddptwin::controller::expectations_test {
namespace {

TEST(Expectations, without_a_record_everything_is_as_expected) {
  Expectations expectations;
  EXPECT_TRUE(expectations.satisfied("k", Time()));
  expectations.lower("k", 1, 1);
  EXPECT_TRUE(expectations.satisfied("k", Time()));
}

TEST(Expectations, both_counters_have_to_come_down) {
  Expectations expectations;
  expectations.raise("k", 1, 1, Time());
  expectations.lower("k", 1, 0);
  EXPECT_FALSE(expectations.satisfied("k", Time()));
  expectations.lower("k", 0, 1);
  EXPECT_TRUE(expectations.satisfied("k", Time()));
}

TEST(Expectations, a_record_counts_for_five_minutes_from_its_making) {
  Expectations expectations;
  expectations.raise("k", 1, 0, Time());
  expectations.raise("k", 1, 0, Time(299s));
  EXPECT_FALSE(expectations.satisfied("k", Time(300s)));
  EXPECT_TRUE(expectations.satisfied("k", Time(301s)));
}

}  // namespace
}  // namespace ddptwin::controller::expectations_test
