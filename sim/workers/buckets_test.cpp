#include "buckets.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace ddptwin::workers::buckets_test {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;

std::vector<std::size_t> reversed(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

std::vector<std::size_t> sizes_of(const std::vector<Bucket>& buckets,
                                  const std::vector<std::size_t>& bytes) {
  std::vector<std::size_t> sizes;
  for (const Bucket& bucket : buckets) {
    std::size_t size = 0;
    for (const std::size_t parameter : bucket) size += bytes[parameter];
    sizes.push_back(size);
  }
  return sizes;
}

// The model of spec/ddp-semantics.md §5.1: 64x1024, 12 times 1024x1024, 1024x64, without biases.
std::vector<std::size_t> documented_model() {
  std::vector<std::size_t> bytes(14, 4 * MiB);
  bytes.front() = bytes.back() = 256 * KiB;
  return bytes;
}

TEST(Buckets, are_those_measured_for_the_documented_model) {
  const std::vector<std::size_t> bytes = documented_model();
  const auto buckets = assign_buckets(bytes, reversed(14), {first_bucket_limit, bucket_limit});
  EXPECT_EQ(buckets, (std::vector<Bucket>{{13, 12}, {11, 10, 9, 8, 7, 6, 5}, {4, 3, 2, 1, 0}}));
  EXPECT_EQ(sizes_of(buckets, bytes), (std::vector<std::size_t>{4456448, 29360128, 17039360}));
}

// bucket_cap_mb=8 with torch 1.13, §5.1, and with 2.15, §9.4, where it is the first bucket's limit
// too.
TEST(Buckets, follow_another_cap_as_measured) {
  const std::vector<std::size_t> bytes = documented_model();
  EXPECT_EQ(
      sizes_of(assign_buckets(bytes, reversed(14), {1 * MiB, 8 * MiB}), bytes),
      (std::vector<std::size_t>{4456448, 8388608, 8388608, 8388608, 8388608, 8388608, 4456448}));
  EXPECT_EQ(
      sizes_of(assign_buckets(bytes, reversed(14), {8 * MiB}), bytes),
      (std::vector<std::size_t>{8650752, 8388608, 8388608, 8388608, 8388608, 8388608, 262144}));
}

TEST(Buckets, close_when_the_limit_is_reached_and_not_before) {
  EXPECT_EQ(assign_buckets({4, 4, 4}, {0, 1, 2}, {8}), (std::vector<Bucket>{{0, 1}, {2}}));
  EXPECT_EQ(assign_buckets({4, 3, 4}, {0, 1, 2}, {8}), (std::vector<Bucket>{{0, 1, 2}}));
  EXPECT_EQ(assign_buckets({}, {}, {8}), (std::vector<Bucket>{}));
}

}  // namespace
}  // namespace ddptwin::workers::buckets_test
