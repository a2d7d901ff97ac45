// discovery.k8s.io/v1: EndpointSlice.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct EndpointConditions {
  std::optional<bool> ready{};
  std::optional<bool> serving{};
  std::optional<bool> terminating{};
  static const Type& type();
};
struct Endpoint {
  std::vector<std::string> addresses{};
  EndpointConditions conditions{};
  Rare<std::string> hostname{};
  Rare<ObjectReference> targetRef{};
  Cow<StringMap> deprecatedTopology{};
  Rare<std::string> nodeName{};
  Rare<std::string> zone{};
  RawJson hints{};
  static const Type& type();
};
struct SlicePort {
  std::optional<std::string> name{};
  std::optional<std::string> protocol{};
  std::optional<std::int32_t> port{};
  std::optional<std::string> appProtocol{};
  static const Type& type();
};
struct EndpointSlice final : ObjectOf<EndpointSlice> {
  std::string addressType{};
  std::vector<Endpoint> endpoints{};  // null on the wire when empty
  std::vector<SlicePort> ports{};     // null on the wire when empty
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
