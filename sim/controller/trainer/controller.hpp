// Kubeflow Trainer's TrainJob controller: it makes the JobSet of each TrainJob from its runtime,
// and says how it ends (spec/trainjob.md §2). Jobs and pods are others'.
#pragma once

#include "controller/controller.hpp"
#include "controller/trainer/profile.hpp"

namespace ddptwin::controller {

class TrainJobController final : public Controller {
 public:
  explicit TrainJobController(const trainer::Profile& profile) : profile_(profile) {}

  std::string_view name() const override { return "trainer-trainjob-controller"; }
  std::string_view event_action() const override { return "Reconciling"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  // It remembers nothing.
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;

 private:
  trainer::Profile profile_;
};

}  // namespace ddptwin::controller
