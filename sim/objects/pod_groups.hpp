// The PodGroups of scheduler-plugins (scheduling.x-k8s.io/v1alpha1) and of Volcano
// (scheduling.volcano.sh/v1beta1): pods that are to be scheduled together or not at all
// (spec/trainjob.md §8).
#pragma once

#include "objects/object.hpp"

namespace ddptwin {

struct CoschedulingGroupSpec {
  std::optional<std::int32_t> minMember{};
  std::optional<ResourceList> minResources{};
  std::optional<std::int32_t> scheduleTimeoutSeconds{};
  static const Type& type();
};
struct CoschedulingGroupStatus {
  std::string phase{};  // Pending, Scheduling, Running, Finished, Failed
  std::string occupiedBy{};
  std::int32_t running = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  static const Type& type();
  bool operator==(const CoschedulingGroupStatus&) const = default;
};
struct CoschedulingGroup final : ObjectOf<CoschedulingGroup> {
  Verbatim<CoschedulingGroupSpec> spec{};
  std::optional<CoschedulingGroupStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct VolcanoGroupSpec {
  std::optional<std::int32_t> minMember{};
  std::optional<ResourceList> minResources{};
  std::string queue{};
  std::string priorityClassName{};
  RawJson networkTopology{};
  static const Type& type();
};
struct VolcanoGroupCondition {
  std::string type_{};  // Scheduled, Unschedulable
  std::string status{};
  std::string transitionID{};  // of the session that wrote it
  OptionalTime lastTransitionTime{};
  std::string reason{};
  std::string message{};
  static const Type& type();
  bool operator==(const VolcanoGroupCondition&) const = default;
};
struct VolcanoGroupStatus {
  std::string phase{};  // Pending, Inqueue, Running, Unknown, Completed
  std::vector<VolcanoGroupCondition> conditions{};
  std::int32_t running = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  static const Type& type();
  bool operator==(const VolcanoGroupStatus&) const = default;
};
struct VolcanoGroup final : ObjectOf<VolcanoGroup> {
  Verbatim<VolcanoGroupSpec> spec{};
  std::optional<VolcanoGroupStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct VolcanoQueueSpec {
  std::optional<std::int32_t> weight{};
  std::optional<ResourceList> capability{};  // no more than this; unset: no limit
  std::optional<bool> reclaimable{};
  std::string parent{};
  static const Type& type();
};
struct VolcanoQueueStatus {
  std::string state{};  // Open, Closed
  static const Type& type();
  bool operator==(const VolcanoQueueStatus&) const = default;
};
// Not namespaced.
struct VolcanoQueue final : ObjectOf<VolcanoQueue> {
  Verbatim<VolcanoQueueSpec> spec{};
  std::optional<VolcanoQueueStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// How a pod says of which group it is.
inline constexpr std::string_view coscheduling_label = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view volcano_annotation = "scheduling.k8s.io/group-name";

}  // namespace ddptwin
