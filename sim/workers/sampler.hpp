// Which samples a rank sees: torch.utils.data.DistributedSampler's formula.
// Source: spec/ddp-semantics.md §5.3.
#pragma once

#include <cstdint>
#include <vector>

namespace ddptwin::workers {

struct SamplerOptions {
  std::int64_t dataset = 0;  // L
  int world_size = 1;        // R
  int rank = 0;
  std::int64_t seed = 0;
  std::int64_t epoch = 0;  // set_epoch()
  bool shuffle = true;
  bool drop_last = false;
};

// torch.randperm(count, generator=Generator().manual_seed(seed)) on the CPU.
std::vector<std::int64_t> random_permutation(std::int64_t count, std::int64_t seed);

// Samples of one rank in one epoch; equal on every rank. May be 0 with drop_last.
std::int64_t samples_per_rank(const SamplerOptions& options);

std::vector<std::int64_t> sample_indices(const SamplerOptions& options);

}  // namespace ddptwin::workers
