// Volcano's controller of PodGroups: pods of its scheduler that name no group get one, for nobody
// is scheduled without (volcano-sh/volcano, pkg/controllers/podgroup).
#pragma once

#include "controller/controller.hpp"
#include "objects/pod_groups.hpp"

namespace ddptwin::controller {

class VolcanoGroupController final : public Controller {
 public:
  std::string_view name() const override { return "vc-controller-manager"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
