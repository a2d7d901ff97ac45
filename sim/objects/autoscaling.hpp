// autoscaling/v2: HorizontalPodAutoscaler. Its controller is controller/manager/pod_autoscaler; the
// metrics are what a scenario's steps play.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct CrossVersionObjectReference {
  std::string kind{};
  std::string name{};
  std::string apiVersion{};
  static const Type& type();
};
struct HorizontalPodAutoscalerSpec {
  CrossVersionObjectReference scaleTargetRef{};
  std::optional<std::int32_t> minReplicas{};
  std::int32_t maxReplicas = 0;
  RawJson metrics{};
  RawJson behavior{};
  static const Type& type();
};
struct HorizontalPodAutoscalerStatus {
  std::optional<std::int64_t> observedGeneration{};
  OptionalTime lastScaleTime{};
  std::int32_t currentReplicas = 0;
  std::int32_t desiredReplicas = 0;
  RawJson currentMetrics{};  // null on the wire when absent
  std::vector<Condition> conditions{};
  static const Type& type();
};
struct HorizontalPodAutoscaler final : ObjectOf<HorizontalPodAutoscaler> {
  HorizontalPodAutoscalerSpec spec{};
  HorizontalPodAutoscalerStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// The same object as autoscaling/v1 shows it (kubectl's and the recordings' view): a metric of the
// cpu's utilization becomes targetCPUUtilizationPercentage, all others an annotation.
Json to_autoscaling_v1(const HorizontalPodAutoscaler& autoscaler);

}  // namespace ddptwin
