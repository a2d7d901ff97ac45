// kube-controller-manager's resource quota controller: what a namespace's quotas limit, and how
// much of it is used (spec/kubernetes.md §3.6; upstream: pkg/controller/resourcequota).
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller {

// Counts anew when a quota is made or limits something else, when something that it counts goes, or
// ends, and every five minutes. What comes is counted by admission.
class ResourceQuotaController final : public Controller {
 public:
  std::string_view name() const override { return "resourcequota-controller"; }
  // Every kind that is counted.
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
