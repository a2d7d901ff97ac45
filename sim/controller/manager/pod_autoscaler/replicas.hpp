// How many pods a metric asks for (pkg/controller/podautoscaler/replica_calculator.go).
#pragma once

#include "controller/manager/pod_autoscaler/metrics.hpp"

namespace ddptwin::controller::pod_autoscaler {

// A ratio of usage and target that is no farther from 1 changes nothing. Where a behavior says
// nothing of it: --horizontal-pod-autoscaler-tolerance.
inline constexpr double default_tolerance = 0.1;
struct Tolerances {
  double down = default_tolerance, up = default_tolerance;
  bool hold(double ratio) const { return 1.0 - down <= ratio && ratio <= 1.0 + up; }
};

struct Proposal {
  std::int32_t replicas = 0;
  std::int64_t value = 0;                     // as it is now, on average, in thousandths
  std::optional<std::int32_t> utilization{};  // percent of what is requested
};

// The pods that the target's selector selects, and what it is asked to be.
struct Target {
  Pods pods{};
  std::int32_t replicas = 0;
  std::int32_t replicas_now = 0;  // as its status has it
  Tolerances tolerances{};
};

// So much of a resource is to be used of what the pods request, in percent. An empty container:
// all of a pod.
Result<Proposal> by_utilization(const Target& target, const MetricsApi& metrics,
                                std::string_view resource, std::string_view container,
                                std::int32_t percent, Time now);
// So much of a resource by each pod, in thousandths.
Result<Proposal> by_usage(const Target& target, const MetricsApi& metrics,
                          std::string_view resource, std::string_view container,
                          std::int64_t wanted, Time now);
// So much of another metric of the pods by each.
Result<Proposal> by_pod_metric(const Target& target, const MetricsApi& metrics,
                               std::string_view metric, std::int64_t wanted, Time now);
// A value that all pods together bring to `wanted`.
Result<Proposal> by_value(const Target& target, std::int64_t value, std::int64_t wanted);
// A value of which each pod takes `wanted`.
Proposal by_average(const Target& target, std::int64_t value, std::int64_t wanted);

}  // namespace ddptwin::controller::pod_autoscaler
