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
struct CoschedulingGroup final : ObjectOf<CoschedulingGroup> {
  Verbatim<CoschedulingGroupSpec> spec{};
  RawJson status{};
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
struct VolcanoGroup final : ObjectOf<VolcanoGroup> {
  Verbatim<VolcanoGroupSpec> spec{};
  RawJson status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
