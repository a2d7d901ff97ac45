// node.k8s.io/v1: RuntimeClass.
#pragma once

#include "objects/pod_spec.hpp"

namespace ddptwin {

// What a pod of the class takes of its node beside its containers.
struct RuntimeOverhead {
  Cow<ResourceList> podFixed{};
  static const Type& type();
};
// Where such pods may be placed.
struct RuntimeScheduling {
  Cow<StringMap> nodeSelector{};
  Cow<std::vector<Toleration>> tolerations{};
  static const Type& type();
};
struct RuntimeClass final : ObjectOf<RuntimeClass> {
  std::string handler{};
  std::optional<RuntimeOverhead> overhead{};
  std::optional<RuntimeScheduling> scheduling{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
