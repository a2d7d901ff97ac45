// The EndpointSlice controller: what CoreDNS and kube-proxy read.
#pragma once

#include "controller/controller.hpp"
#include "controller/manager/endpoints/membership.hpp"
#include "controller/manager/endpoints/slice_tracker.hpp"

namespace ddptwin::controller {

// Keys are services. One slice for each address family and list of ports, at most
// endpoints_per_slice_max endpoints in each; a service without endpoints has one empty slice of
// each family (spec/kubernetes.md §5).
class EndpointSliceController final : public Controller {
 public:
  static constexpr std::size_t endpoints_per_slice_max = 100;

  std::string_view name() const override { return "endpoint-slice-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  // Upstream's maxRetries, defaultSyncBackOff and maxSyncBackOff.
  RateLimits retries() const override {
    return {.base_delay = std::chrono::seconds(1), .max_retries = 15};
  }
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void accepted(const Key& key, const Step& step, const api::Response& answer) override {
    known_.of(split_key(key)).written.accepted(step, answer);
  }
  void reset() override { known_.clear(); }
  std::vector<Key> remembered() const override { return known_.keys(); }

 private:
  // Of one key.
  struct Known {
    endpoints::ServiceFacts<SlicePort> facts{};
    endpoints::SliceTracker written{};
  };

  static StringMap labels_of(const Service& service);

  mutable endpoints::ServiceReader<SlicePort> reader_{&labels_of, &endpoints::owners_of};
  mutable KeyTable<Known> known_{};
};

}  // namespace ddptwin::controller
