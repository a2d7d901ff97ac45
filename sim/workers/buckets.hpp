// How DistributedDataParallel groups gradients for its all-reduces. Source: spec/ddp-semantics.md
// §5.1.
#pragma once

#include <cstddef>
#include <vector>

namespace ddptwin::workers {

using Bucket = std::vector<std::size_t>;  // indices of parameters

inline constexpr std::size_t first_bucket_limit = std::size_t{1} << 20;
inline constexpr std::size_t bucket_limit = std::size_t{25} << 20;

// Parameters in the order in which their gradients become ready; a bucket takes parameters until it
// has reached its limit, so it may exceed it by one. The last of `limits` holds for all further
// buckets.
std::vector<Bucket> assign_buckets(const std::vector<std::size_t>& parameter_bytes,
                                   const std::vector<std::size_t>& ready_order,
                                   const std::vector<std::size_t>& limits);

}  // namespace ddptwin::workers
