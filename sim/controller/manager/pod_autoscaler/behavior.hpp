// How fast an autoscaler may follow its metrics (pkg/controller/podautoscaler/horizontal.go:
// normalizeDesiredReplicas and what it calls).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.hpp"
#include "objects/autoscaling.hpp"

namespace ddptwin::controller::pod_autoscaler {

// --horizontal-pod-autoscaler-sync-period
inline constexpr Duration sync_period = 15s;
// --horizontal-pod-autoscaler-downscale-stabilization
inline constexpr Duration downscale_stabilization = 5min;

struct ScalingPolicy {
  std::string type{};  // Pods or Percent
  std::int32_t value = 0;
  std::int32_t period = 0;  // seconds
};
struct ScalingRules {
  std::int32_t window = 0;  // of stabilization, in seconds
  std::string select{};     // Max, Min or Disabled
  std::vector<ScalingPolicy> policies{};
  std::optional<double> tolerance{};

  std::int32_t longest_period() const;
};
struct Behavior {
  ScalingRules up{}, down{};

  // spec.behavior, whose gaps its defaults have filled; nothing: there is none.
  static std::optional<Behavior> of(const HorizontalPodAutoscaler& autoscaler);
};

// What the controller remembers of one autoscaler; a crash loses it.
struct Memory {
  struct Recommendation {
    std::int32_t replicas = 0;
    Time at{};
  };
  struct Change {
    std::int32_t by = 0;
    Time at{};
  };
  std::vector<Recommendation> recommendations{};
  std::vector<Change> ups{}, downs{};
  std::string selector{};  // of its target, as it was last
};

struct Bounds {
  std::int32_t least = 1, most = 1;
};
struct ConditionWords {
  std::string_view reason{}, message{};
};
// What becomes of a wish.
struct Verdict {
  std::int32_t replicas = 0;
  ConditionWords able{};  // AbleToScale, which is True
  bool is_limited = false;
  ConditionWords limited{};  // ScalingLimited
};

// Notes the wish in `memory`. Without a behavior it is twice the replicas, or 4, at most.
Verdict judge(Memory& memory, const std::optional<Behavior>& behavior, std::int32_t now_are,
              std::int32_t wanted, Bounds bounds, Time now);

// The target has been scaled.
void note_change(Memory& memory, const std::optional<Behavior>& behavior, std::int32_t before,
                 std::int32_t after, Time now);

}  // namespace ddptwin::controller::pod_autoscaler
