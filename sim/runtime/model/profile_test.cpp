#include "runtime/model/profile.hpp"

#include <gtest/gtest.h>

namespace ddptwin::model::profile_test {
namespace {

// ddp-semantics §7.1, columns veth+bridge with SCHED_BATCH: what the twin's own pods are.
struct Measured {
  int world;
  std::uint64_t bytes;
  Duration time;
  double ratio;  // how far the formula may be off
};
constexpr std::uint64_t kibi = 1024, mebi = 1024 * 1024;

class AllReduce : public testing::TestWithParam<Measured> {};
INSTANTIATE_TEST_SUITE_P(
    Profile, AllReduce,
    testing::Values(Measured{2, 4, 76us, 1.6}, Measured{8, 4, 370us, 1.2},
                    Measured{16, 4, 760us, 1.2}, Measured{32, 4, 1760us, 1.2},
                    Measured{8, 64 * kibi, 2270us, 1.15}, Measured{16, 64 * kibi, 9970us, 1.15},
                    Measured{32, 64 * kibi, 41500us, 1.2}, Measured{8, mebi, 6400us, 1.5},
                    Measured{16, mebi, 13300us, 1.5}, Measured{32, mebi, 53100us, 1.5},
                    Measured{2, 25 * mebi, 25ms, 1.5}, Measured{4, 25 * mebi, 57700us, 1.15},
                    Measured{8, 25 * mebi, 120ms, 1.15}, Measured{16, 25 * mebi, 292ms, 1.15},
                    Measured{32, 25 * mebi, 533ms, 1.15}),
    [](const auto& one) {
      return std::to_string(one.param.world) + "_ranks_" + std::to_string(one.param.bytes);
    });

TEST_P(AllReduce, takes_about_as_long_as_was_measured) {
  const double ratio = seconds_of(all_reduce(host_timing, GetParam().bytes, GetParam().world)) /
                       seconds_of(GetParam().time);
  EXPECT_LE(ratio, GetParam().ratio);
  EXPECT_GE(ratio, 1 / GetParam().ratio);
}

TEST(Profile, one_rank_needs_no_all_reduce) {
  EXPECT_EQ(all_reduce(host_timing, 25 * mebi, 1), Duration::zero());
  EXPECT_EQ(all_reduce(cluster_timing, 25 * mebi, 1), Duration::zero());
}

TEST(Profile, a_clusters_ring_sends_nearly_all_bytes_twice_over_each_link) {
  // 2 (N-1) (a + S / (N b)) with N = 4: 6 hops of 60 us, 1.5 times 1.1 GB at 1.1 GB/s.
  EXPECT_EQ(all_reduce(cluster_timing, 1'100'000'000, 4), 6 * 60us + 1500ms);
}

// ddp-semantics §3.3 and §9.2, "1000 vs 668": 1500 against 1000 floats of three ranks, and 1000
// floats of two ranks against three.
TEST(Profile, a_ring_sends_segments_of_the_measured_sizes) {
  EXPECT_EQ(ring_segment(4000, 3), 668U);
  EXPECT_EQ(ring_segment(6000, 3), 1000U);
  EXPECT_EQ(ring_segment(4000, 2), 1000U);
  EXPECT_EQ(ring_segment(4, 3), 4U);
  EXPECT_EQ(ring_segment(40 * mebi, 3), 998644U);  // 42 of them, so that none is over 1 MiB
}

}  // namespace
}  // namespace ddptwin::model::profile_test
