// One look at one autoscaler (pkg/controller/podautoscaler/horizontal.go: reconcileAutoscaler).
#pragma once

#include "controller/controller.hpp"
#include "controller/manager/pod_autoscaler/behavior.hpp"
#include "controller/manager/pod_autoscaler/specs.hpp"
#include "objects/scale.hpp"

namespace ddptwin::controller::pod_autoscaler {

namespace looks {
extern const Rule scale_is_unknown, metric_failed, no_metric_works, scale_target, write_status;
}

// Plans the look. What it reads and writes of other looks is in `memories`, by key.
class Look {
 public:
  using Memories = std::map<Key, Memory, std::less<>>;

  Look(std::shared_ptr<const HorizontalPodAutoscaler> about, const Cache& cache,
       const MetricsApi& metrics, Memories& memories, Time now);

  Plan run() &&;
  // The replicas before and after, where the plan scales.
  std::optional<std::pair<std::int32_t, std::int32_t>> scaling() const { return scaling_; }

 private:
  using Status = HorizontalPodAutoscalerStatus;
  struct Wish {
    std::int32_t replicas = 0;
    std::string metric{};  // the one that asks for so many
  };
  Result<Scale> find_scale();
  std::optional<Target> target_of(const Scale& scale);
  std::string others_of(const Pods& pods) const;
  std::optional<Wish> wish(const Scale& scale);
  void give_up(const std::string& error);
  ObjectPtr described(const CrossVersionObjectReference& object) const;
  const KindInfo* kind_of(const CrossVersionObjectReference& object) const;
  void write_scale(const Scale& scale, std::int32_t replicas, const std::string& reason);
  void tell(const Rule& rule, std::string_view type, std::string_view reason,
            const std::string& message);
  void set(std::string_view type, bool is_true, std::string_view reason, std::string message);
  void write_status();

  std::shared_ptr<const HorizontalPodAutoscaler> about_;
  const Cache& cache_;
  const MetricsApi& metrics_;
  Memories& memories_;
  Time now_;
  Key key_;
  Status status_;
  ObjectPtr object_{};  // its target
  std::optional<std::pair<std::int32_t, std::int32_t>> scaling_{};
  Plan plan_{};
};

}  // namespace ddptwin::controller::pod_autoscaler
