// The HorizontalPodAutoscaler's controller in kube-controller-manager (pkg/controller/podautoscaler
// of Kubernetes 1.3x).
#pragma once

#include <map>
#include <span>

#include "controller/controller.hpp"
#include "controller/manager/pod_autoscaler/behavior.hpp"
#include "controller/manager/pod_autoscaler/metrics.hpp"

namespace ddptwin::controller {

// Looks at each autoscaler every 15 s from when it came, and no sooner for any change: at the scale
// of its target, at what its metrics ask for, at how fast it may follow. Writes the scale, and what
// it came to into the status. A crash loses what was recommended and done before.
class PodAutoscalerController final : public Controller {
 public:
  // `metrics` outlives it.
  explicit PodAutoscalerController(const pod_autoscaler::MetricsApi& metrics) : metrics_(metrics) {}

  std::string_view name() const override { return "horizontal-pod-autoscaler"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  RateLimits retries() const override {
    return {.base_delay = pod_autoscaler::sync_period,
            .max_delay = pod_autoscaler::sync_period,
            .per_second = 0};
  }
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void accepted(const Key& key, const Step& step, const api::Response& answer) override;
  void reset() override;
  std::vector<Key> remembered() const override { return keys_of(memory_); }

 private:
  // A change of scale that has been asked for.
  struct Scaling {
    std::optional<pod_autoscaler::Behavior> behavior{};
    std::int32_t before = 0, after = 0;
    Time at{};
  };

  const pod_autoscaler::MetricsApi& metrics_;
  // A look writes down what it recommends, whatever becomes of its calls.
  mutable std::map<Key, pod_autoscaler::Memory, std::less<>> memory_{};
  mutable std::map<Key, Scaling, std::less<>> scaling_{};
};

}  // namespace ddptwin::controller
