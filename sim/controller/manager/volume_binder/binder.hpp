// kube-controller-manager's persistentvolume-binder-controller: brings claims and volumes together,
// asks for volumes where none suits, and lets go of what no claim holds any more
// (spec/kubernetes.md §3.7; upstream: pkg/controller/volume/persistentvolume).
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller::volume_binder {

// A key is of a claim, or, without a namespace, of a volume. A plan writes once and is made anew
// when that write comes back: a claim is bound by four.
class Binder final : public Controller {
 public:
  std::string_view name() const override { return "persistentvolume-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller::volume_binder
