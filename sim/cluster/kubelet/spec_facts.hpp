// What of a pod's status follows from its specification alone.
#pragma once

#include <memory>
#include <string>
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

  Text qos_class;
  bool restart_all_rule = false;           // some container has a rule RestartAllContainers
  bool has_probes = false;                 // some container has one
  Rare<ResourceRequirements> resources{};  // of the pod as a whole
  // In the order of the specification.
  std::vector<OfContainer> init_containers{};
  std::vector<OfContainer> containers{};
};

// Those of specifications that come one after the other and do not differ in what they follow from,
// as a job's do, are the same.
class KnownFacts {
 public:
  std::shared_ptr<const SpecFacts> of(const Cow<PodSpec>& spec);

 private:
  Cow<PodSpec> last_{};
  std::shared_ptr<const SpecFacts> facts_{};  // of the last; null: there was none
};

}  // namespace ddptwin::kubelet
