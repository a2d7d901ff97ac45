// node.k8s.io/v1: RuntimeClass.
#pragma once

#include "objects/pod_spec.hpp"

namespace ddptwin {

struct RuntimeClass final : ObjectOf<RuntimeClass> {
  // What a pod of the class takes of its node beside its containers.
  struct Overhead {
    Cow<ResourceList> podFixed{};
    static const Type& type();
  };
  // Where such pods may be placed.
  struct Scheduling {
    Cow<StringMap> nodeSelector{};
    Cow<std::vector<Toleration>> tolerations{};
    static const Type& type();
  };
  std::string handler{};
  std::optional<Overhead> overhead{};
  std::optional<Scheduling> scheduling{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
