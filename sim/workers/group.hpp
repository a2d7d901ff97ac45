// Port: the collectives that data-parallel training needs. Every rank makes the same calls in the
// same order; calls are matched by their count, not by their kind (spec/ddp-semantics.md §3.4). A
// peer that died, hung or disagrees makes a call throw CollectiveError.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ddptwin::workers {

class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sums each buffer over all ranks, in place: one all-reduce each, in order, up to two in flight.
  virtual void all_reduce(const std::vector<std::span<float>>& buffers) = 0;

  // Rank 0's bytes to all.
  virtual void broadcast(std::span<std::byte> bytes) = 0;

  // Everybody's bytes, rank by rank; all ranks give equally many.
  virtual std::vector<std::byte> all_gather(std::span<const std::byte> bytes) = 0;
};

}  // namespace ddptwin::workers
