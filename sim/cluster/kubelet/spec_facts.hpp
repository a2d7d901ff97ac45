// What of a pod's status follows from its specification alone.
#pragma once

#include <string_view>
#include <vector>

#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

// Worked out once for each version of a specification, since statuses are made far more often.
// Source: spec/kubernetes.md §2.3, §2.10.
struct SpecFacts {
  explicit SpecFacts(const PodSpec& spec);

  struct OfContainer {  // as its status shows it
    RawJson volume_mounts{};
    Rare<ResourceRequirements> resources{};
  };

  std::string_view qos_class;
  Rare<ResourceRequirements> resources{};  // of the pod as a whole
  // In the order of the specification.
  std::vector<OfContainer> init_containers{};
  std::vector<OfContainer> containers{};
};

}  // namespace ddptwin::kubelet
