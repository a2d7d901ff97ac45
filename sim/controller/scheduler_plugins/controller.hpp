// The controller of scheduler-plugins: what a PodGroup of scheduling.x-k8s.io tells of its pods
// (pkg/controllers/podgroup_controller.go).
#pragma once

#include "controller/controller.hpp"
#include "objects/pod_groups.hpp"

namespace ddptwin::controller {

namespace scheduler_plugins {

// What the group says next, seen with these pods; the same where nothing is new. Pure.
CoschedulingGroupStatus next_status(const CoschedulingGroup& group,
                                    const std::vector<std::shared_ptr<const Pod>>& pods);

}  // namespace scheduler_plugins

class CoschedulingGroupController final : public Controller {
 public:
  std::string_view name() const override { return "PodGroupController"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
