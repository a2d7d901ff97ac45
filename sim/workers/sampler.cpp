#include "sampler.hpp"

#include <numeric>
#include <random>
#include <utility>

namespace ddptwin::workers {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

}  // namespace

std::vector<std::int64_t> random_permutation(std::int64_t count, std::int64_t seed) {
  std::mt19937 generator(static_cast<std::uint32_t>(seed));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    std::swap(order[i], order[i + generator() % (order.size() - i)]);
  }
  return order;
}

std::int64_t samples_per_rank(const SamplerOptions& options) {
  const std::int64_t ranks = options.world_size;
  if (options.drop_last && options.dataset % ranks != 0) {
    return options.dataset < ranks ? 0 : divide_up(options.dataset - ranks, ranks);
  }
  return divide_up(options.dataset, ranks);
}

std::vector<std::int64_t> sample_indices(const SamplerOptions& options) {
  const std::vector<std::int64_t> order =
      random_permutation(options.dataset, options.seed + options.epoch);
  const auto ranks = static_cast<std::size_t>(options.world_size);
  const auto total = static_cast<std::size_t>(samples_per_rank(options)) * ranks;
  std::vector<std::int64_t> mine;
  // Past the end of the data set the order is appended cyclically until every rank has its share.
  for (auto i = static_cast<std::size_t>(options.rank); i < total; i += ranks) {
    const std::size_t position = i % static_cast<std::size_t>(options.dataset);
    mine.push_back(options.shuffle ? order[position] : static_cast<std::int64_t>(position));
  }
  return mine;
}

}  // namespace ddptwin::workers
