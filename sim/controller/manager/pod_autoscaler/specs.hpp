// The rows of spec.metrics: what each asks for, in the words of its kind
// (pkg/controller/podautoscaler/horizontal.go: computeReplicasForMetric).
#pragma once

#include "controller/manager/pod_autoscaler/replicas.hpp"
#include "objects/autoscaling.hpp"

namespace ddptwin::controller::pod_autoscaler {

struct MetricAnswer {
  Proposal proposal{};
  std::string name{};  // as reasons name it
  Json status{};       // of status.currentMetrics
};
struct MetricFailure {
  std::string reason{};  // FailedGetResourceMetric: of the event and of the condition
  std::string told{};    // by them
  std::string whole{};   // of all metrics together
};
// Where the object of an Object metric is found.
using FindObject = std::function<ObjectPtr(const CrossVersionObjectReference&)>;

struct MetricsView {
  const MetricsApi& metrics;
  FindObject find;
  std::string_view namespace_;
  Time now;
};
tl::expected<MetricAnswer, MetricFailure> ask(const Json& metric, const Target& target,
                                              const MetricsView& view);

}  // namespace ddptwin::controller::pod_autoscaler
