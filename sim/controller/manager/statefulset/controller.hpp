// kube-controller-manager's StatefulSet controller (spec/kubernetes.md §4).
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller {

class StatefulSetController final : public Controller {
 public:
  std::string_view name() const override { return "statefulset-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  // It remembers nothing: a set's template is compared with its revisions anew at each pass.
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
