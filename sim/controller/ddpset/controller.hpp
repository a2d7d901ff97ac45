// The StatefulSet platform: it makes a headless Service and a StatefulSet of each DDPSet, and
// leaves the pods to kube-controller-manager (spec/statefulset-platform.md §1).
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller {

class DDPSetController final : public Controller {
 public:
  std::string_view name() const override { return "ddpset-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  // It remembers nothing.
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
