// The JobSet controller: it makes the Jobs of each JobSet and their headless Service, and says how
// they end (spec/trainjob.md §5). Pods are the Jobs' own.
#pragma once

#include "controller/controller.hpp"
#include "controller/jobset/profile.hpp"

namespace ddptwin::controller {

class JobSetController final : public Controller {
 public:
  explicit JobSetController(const jobset::Profile& profile) : profile_(profile) {}

  std::string_view name() const override { return "jobset"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  // It remembers nothing.
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;

 private:
  jobset::Profile profile_;
};

}  // namespace ddptwin::controller
