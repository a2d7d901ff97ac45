// platform.ddptwin.dev/v1alpha1 DDPSet: the input of the StatefulSet platform
// (spec/statefulset-platform.md section 2).
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct DDPSetSpec {
  std::optional<std::int32_t> replicas{};
  std::optional<std::int32_t> port{};
  std::string serviceName{};  // empty: NAME-svc
  PodTemplateSpec template_{};
  std::string podManagementPolicy{};  // OrderedReady, Parallel
  bool publishNotReadyAddresses = false;
  std::optional<std::int32_t> ordinalsStart{};
  static const Type& type();
};

struct DDPSetStatus {
  std::int64_t observedGeneration = 0;
  std::int32_t replicas = 0;
  std::int32_t readyReplicas = 0;
  std::int32_t updatedReplicas = 0;
  std::string selector{};  // of the scale subresource
  static const Type& type();
  bool operator==(const DDPSetStatus& other) const = default;
};

struct DDPSet final : ObjectOf<DDPSet> {
  Verbatim<DDPSetSpec> spec{};
  std::optional<DDPSetStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// What holds where the spec is silent; the definition writes all but the service's name into it.
inline constexpr std::int32_t ddpset_port = 29500;
int replicas_of(const DDPSetSpec& spec);
int port_of(const DDPSetSpec& spec);
int ordinals_start_of(const DDPSetSpec& spec);
std::string service_name_of(const DDPSet& set);

}  // namespace ddptwin
