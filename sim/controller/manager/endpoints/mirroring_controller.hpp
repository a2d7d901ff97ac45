// The EndpointSlice mirroring controller: Endpoints that somebody wrote by hand become slices.
#pragma once

#include "controller/manager/endpoints/slice_tracker.hpp"

namespace ddptwin::controller {

// Keys are Endpoints. Those of a service without a selector are copied into slices of their own,
// which Endpoints own; all other mirrors are deleted (spec/kubernetes.md §5).
class EndpointSliceMirroringController final : public Controller {
 public:
  static constexpr std::size_t endpoints_per_slice_max = 1000;

  std::string_view name() const override { return "endpoint-slice-mirroring-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  // Upstream's maxRetries, defaultSyncBackOff and maxSyncBackOff.
  RateLimits retries() const override {
    return {.base_delay = std::chrono::seconds(1),
            .max_delay = std::chrono::seconds(100),
            .max_retries = 15};
  }
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void accepted(const Key& key, const Step& step, const api::Response& answer) override {
    written_.of(split_key(key)).accepted(step, answer);
  }
  void reset() override { written_.clear(); }
  std::vector<Key> remembered() const override { return written_.keys(); }

 private:
  mutable KeyTable<endpoints::SliceTracker> written_{};
};

}  // namespace ddptwin::controller
