#include "sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace ddptwin::workers::sampler_test {
namespace {

using Indices = std::vector<std::int64_t>;

struct Row {
  const char* name;
  std::int64_t dataset;
  int world_size;
  bool drop_last;
  std::vector<Indices> of_rank;
};

// The examples of spec/ddp-semantics.md §5.3, without shuffling.
const Row rows[] = {
    {"padded_from_the_front", 10, 4, false, {{0, 4, 8}, {1, 5, 9}, {2, 6, 0}, {3, 7, 1}}},
    {"cut_to_whole_rounds", 10, 4, true, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}},
    {"smaller_than_the_world", 3, 4, false, {{0}, {1}, {2}, {0}}},
    {"smaller_than_the_world_and_cut", 3, 4, true, {{}, {}, {}, {}}},
    {"one_sample_for_all", 1, 4, false, {{0}, {0}, {0}, {0}}},
    {"padded_more_than_once_around", 1, 3, false, {{0}, {0}, {0}}},
    {"even", 4, 2, true, {{0, 2}, {1, 3}}},
};

TEST(Sampler, gives_the_documented_indices) {
  for (const Row& row : rows) {
    for (int rank = 0; rank < row.world_size; ++rank) {
      const SamplerOptions options{.dataset = row.dataset,
                                   .world_size = row.world_size,
                                   .rank = rank,
                                   .shuffle = false,
                                   .drop_last = row.drop_last};
      const Indices& wanted = row.of_rank[static_cast<std::size_t>(rank)];
      EXPECT_EQ(sample_indices(options), wanted) << row.name << " rank " << rank;
      EXPECT_EQ(samples_per_rank(options), std::ssize(wanted)) << row.name;
    }
  }
}

// torch.randperm(10, generator=torch.Generator().manual_seed(S)).tolist() of PyTorch 1.13.1.
TEST(Sampler, permutes_as_torch_does) {
  EXPECT_EQ(random_permutation(10, 0), (Indices{4, 1, 7, 5, 3, 9, 0, 8, 6, 2}));
  EXPECT_EQ(random_permutation(10, 7), (Indices{5, 0, 3, 4, 1, 7, 9, 6, 8, 2}));
}

TEST(Sampler, shuffles_by_seed_plus_epoch_and_covers_the_data_set) {
  Indices all;
  for (int rank = 0; rank < 4; ++rank) {
    const SamplerOptions options{
        .dataset = 100, .world_size = 4, .rank = rank, .seed = 3, .epoch = 4};
    const Indices mine = sample_indices(options);
    const Indices order = random_permutation(100, 7);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      EXPECT_EQ(mine[i], order[i * 4 + static_cast<std::size_t>(rank)]);
    }
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::ranges::sort(all);
  Indices every(100);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(all, every);
}

}  // namespace
}  // namespace ddptwin::workers::sampler_test
