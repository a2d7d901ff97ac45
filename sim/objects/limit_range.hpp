// v1 LimitRange: what containers, pods and claims of a namespace may ask for, and what is theirs
// where they do not say (spec/kubernetes.md §3.6).
#pragma once

#include "objects/pod_spec.hpp"

namespace ddptwin {

struct LimitRangeItem {
  std::string type_{};  // Container, Pod, PersistentVolumeClaim
  Cow<ResourceList> max{};
  Cow<ResourceList> min{};
  Cow<ResourceList> default_{};
  Cow<ResourceList> defaultRequest{};
  Cow<ResourceList> maxLimitRequestRatio{};
  static const Type& type();
};
struct LimitRangeSpec {
  std::vector<LimitRangeItem> limits{};
  static const Type& type();
};
struct LimitRange final : ObjectOf<LimitRange> {
  LimitRangeSpec spec{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
