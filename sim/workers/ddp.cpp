#include "ddp.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sstream>
#include <string>

#include "error.hpp"

namespace ddptwin::workers {
namespace {

// Contiguous strides of a shape: what PyTorch sends beside it.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

template <class T>
void broadcast_numbers(Group& group, std::vector<T>& numbers) {
  group.broadcast(std::as_writable_bytes(std::span(numbers)));
}

std::string text_of(const std::int64_t* sizes, std::size_t count) {
  std::ostringstream out;
  out << '[';
  for (std::size_t i = 0; i < count; ++i) out << (i == 0 ? "" : ", ") << sizes[i];
  out << ']';
  return out.str();
}

}  // namespace

DistributedDataParallel::DistributedDataParallel(Group& group, Model& model)
    : group_(group), model_(model) {
  check_parameter_count();
  check_parameter_shapes();
  broadcast_parameters();
  Bucket all(model_.parameters().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  buckets_ = {std::move(all)};  // the first iteration has not seen the order of gradients yet
}

void DistributedDataParallel::check_parameter_count() {
  const auto mine = static_cast<std::int64_t>(model_.parameters().size());
  const std::vector<std::byte> gathered = group_.all_gather(std::as_bytes(std::span(&mine, 1)));
  for (std::size_t offset = 0; offset < gathered.size(); offset += sizeof mine) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, gathered.data() + offset, sizeof theirs);
    if (theirs == mine) continue;
    throw PythonError("RuntimeError",
                      "DDP expects same model across all ranks, but Rank " +
                          std::to_string(group_.rank()) + " has " + std::to_string(mine) +
                          " params, while rank " + std::to_string(offset / sizeof mine) +
                          " has inconsistent " + std::to_string(theirs) + " params.");
  }
}

void DistributedDataParallel::check_parameter_shapes() {
  std::vector<std::int64_t> mine;
  for (const Parameter& parameter : model_.parameters()) {
    const std::vector<std::int64_t> strides = strides_of(parameter.shape);
    mine.insert(mine.end(), parameter.shape.begin(), parameter.shape.end());
    mine.insert(mine.end(), strides.begin(), strides.end());
  }
  std::vector<std::int64_t> rank_zero = mine;
  broadcast_numbers(group_, rank_zero);
  std::size_t at = 0;
  for (std::size_t i = 0; i < model_.parameters().size(); ++i) {
    const std::size_t dimensions = model_.parameters()[i].shape.size();
    if (!std::equal(mine.begin() + at, mine.begin() + at + dimensions, rank_zero.begin() + at)) {
      throw PythonError("RuntimeError",
                        "[" + std::to_string(group_.rank()) + "]: params[" + std::to_string(i) +
                            "] in this process with sizes " + text_of(&mine[at], dimensions) +
                            " appears not to match sizes of the same param in process 0.");
    }
    at += 2 * dimensions;
  }
}

// One coalesced broadcast, as PyTorch makes for up to 250 MiB.
void DistributedDataParallel::broadcast_parameters() {
  std::vector<float> flat;
  for (const Parameter& parameter : model_.parameters()) {
    flat.insert(flat.end(), parameter.value.begin(), parameter.value.end());
  }
  broadcast_numbers(group_, flat);
  auto from = flat.begin();
  for (Parameter& parameter : model_.parameters()) {
    std::copy_n(from, parameter.value.size(), parameter.value.begin());
    from += static_cast<std::ptrdiff_t>(parameter.value.size());
  }
}

void DistributedDataParallel::prepare_forward() {
  if (iterations_ == 1) rebuild_buckets();
}

// Rank 0's choice reaches the others in two broadcasts of int32: all indices with the number of
// buckets behind them, then the size of each bucket.
void DistributedDataParallel::rebuild_buckets() {
  std::vector<std::size_t> bytes;
  for (const Parameter& parameter : model_.parameters())
    bytes.push_back(parameter.value.size_bytes());
  buckets_ = assign_buckets(bytes, model_.ready_order(), {first_bucket_limit, bucket_limit});

  std::vector<std::int32_t> indices;
  for (const Bucket& bucket : buckets_) indices.insert(indices.end(), bucket.begin(), bucket.end());
  indices.push_back(static_cast<std::int32_t>(buckets_.size()));
  broadcast_numbers(group_, indices);

  std::vector<std::int32_t> sizes(static_cast<std::size_t>(indices.back()));
  for (std::size_t i = 0; i < std::min(sizes.size(), buckets_.size()); ++i) {
    sizes[i] = static_cast<std::int32_t>(buckets_[i].size());
  }
  broadcast_numbers(group_, sizes);

  buckets_.clear();
  auto from = indices.begin();
  for (const std::int32_t size : sizes) {
    buckets_.emplace_back(from, from + size);
    from += size;
  }
}

// The factor is applied while copying into the bucket, so rounding is that of pre-scaled values
// (§5.2).
void DistributedDataParallel::reduce_gradients() {
  const auto factor = static_cast<float>(1.0 / group_.size());
  flat_.resize(buckets_.size());
  std::vector<std::span<float>> buffers;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    flat_[i].clear();
    for (const std::size_t index : buckets_[i]) {
      for (const float value : model_.parameters()[index].gradient) {
        flat_[i].push_back(value * factor);
      }
    }
    buffers.emplace_back(flat_[i]);
  }
  group_.all_reduce(buffers);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    auto from = flat_[i].begin();
    for (const std::size_t index : buckets_[i]) {
      const std::span<float> gradient = model_.parameters()[index].gradient;
      std::copy_n(from, gradient.size(), gradient.begin());
      from += static_cast<std::ptrdiff_t>(gradient.size());
    }
  }
  ++iterations_;
}

}  // namespace ddptwin::workers
