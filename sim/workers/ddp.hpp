// DistributedDataParallel: the collectives that torch.nn.parallel.DistributedDataParallel makes, in
// its order, so that a rank of ours trains in one group with ranks of Python's and ends with the
// same bits. Source: spec/ddp-semantics.md §2.2 (order), §5.1 (buckets), §5.2 (averaging).
#pragma once

#include "buckets.hpp"
#include "group.hpp"
#include "model.hpp"

namespace ddptwin::workers {

class DistributedDataParallel {
 public:
  // Checks that all ranks have the same parameters; rank 0's values overwrite the others'.
  // Throws PythonError in a rank whose parameters differ from rank 0's.
  DistributedDataParallel(Group& group, Model& model);

  // Before each forward. At the second one the single bucket of the first iteration is replaced by
  // the buckets of rank 0, in the order in which gradients became ready.
  void prepare_forward();

  // After backward: gradients become their mean over all ranks.
  void reduce_gradients();

  const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  void check_parameter_count();
  void check_parameter_shapes();
  void broadcast_parameters();
  void rebuild_buckets();

  Group& group_;
  Model& model_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<float>>
      flat_;  // one per bucket; a failed all-reduce may still write to it
  int iterations_ = 0;
};

}  // namespace ddptwin::workers
