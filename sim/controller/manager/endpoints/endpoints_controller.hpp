// The Endpoints controller: one Endpoints object per service with a selector, of the same name.
#pragma once

#include "controller/controller.hpp"
#include "controller/manager/endpoints/membership.hpp"

namespace ddptwin::controller {

// Keys are services. Ready addresses and those that are not, split into subsets of ports that have
// the same addresses (spec/kubernetes.md §5).
class EndpointsController final : public Controller {
 public:
  std::string_view name() const override { return "endpoint-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  // Upstream's maxRetries.
  RateLimits retries() const override { return {.max_retries = 15}; }
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void reset() override { known_.clear(); }
  std::vector<Key> remembered() const override { return known_.keys(); }

 private:
  static StringMap labels_of(const Service& service);

  mutable endpoints::ServiceReader<EndpointPort> reader_{&labels_of};
  mutable KeyTable<endpoints::ServiceFacts<EndpointPort>> known_{};
};

}  // namespace ddptwin::controller
