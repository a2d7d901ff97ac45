// kube-controller-manager's pv-protection-controller: a volume that is being deleted goes once no
// claim is bound to it (spec/kubernetes.md §3.7; upstream: pkg/controller/volume/pvprotection).
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller::volume_binder {

class Protection final : public Controller {
 public:
  std::string_view name() const override { return "pv-protection-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller::volume_binder
