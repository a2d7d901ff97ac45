// The provisioners of a cluster, all of them in one process: makes the volume that the binder asks
// for, and deletes it when it is released (spec/kubernetes.md §3.7; upstream:
// sig-storage-lib-external-provisioner).
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller::volume_binder {

// A key is of a claim, or, without a namespace, of a volume.
class Provisioner final : public Controller {
 public:
  std::string_view name() const override { return "external-provisioner"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller::volume_binder
