// kube-controller-manager's pvc-protection-controller: a claim that is being deleted goes once no
// pod uses it (spec/kubernetes.md §4; upstream: pkg/controller/volume/pvcprotection).
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller {

class ClaimProtectionController final : public Controller {
 public:
  std::string_view name() const override { return "pvc-protection-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
