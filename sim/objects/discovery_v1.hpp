// discovery.k8s.io/v1: EndpointSlice.
#pragma once

#include <boost/container/small_vector.hpp>

#include "objects/core_v1.hpp"

namespace ddptwin {

struct EndpointConditions {
  std::optional<bool> ready{};
  std::optional<bool> serving{};
  std::optional<bool> terminating{};
  static const Type& type();
};
struct Endpoint {
  boost::container::small_vector<Text, 1> addresses{};  // one, mostly
  EndpointConditions conditions{};
  Rare<std::string> hostname{};
  Rare<ObjectReference> targetRef{};
  Cow<StringMap> deprecatedTopology{};
  std::optional<Text> nodeName{};
  Rare<std::string> zone{};
  RawJson hints{};
  static const Type& type();
};
struct SlicePort {
  std::optional<std::string> name{};
  std::optional<std::string> protocol{};
  std::optional<std::int32_t> port{};
  std::optional<std::string> appProtocol{};
  bool operator==(const SlicePort&) const = default;
  static const Type& type();
};
struct EndpointSlice final : ObjectOf<EndpointSlice> {
  Text addressType{};
  std::vector<Endpoint> endpoints{};    // null on the wire when empty
  Cow<std::vector<SlicePort>> ports{};  // likewise; of most slices the same
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
