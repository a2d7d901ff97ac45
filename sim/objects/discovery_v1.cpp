#include "objects/discovery_v1.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {

const Type& EndpointConditions::type() {
  using S = EndpointConditions;
  static const Type t =
      structure<S>("v1.EndpointConditions", {F(ready), F(serving), F(terminating)});
  return t;
}
const Type& Endpoint::type() {
  using S = Endpoint;
  static const Type t = structure<S>(
      "v1.Endpoint", {F(addresses, .always = true, .set = true), F(conditions), F(hostname),
                      F(targetRef), F(deprecatedTopology), F(nodeName), F(zone), F(hints)});
  return t;
}
const Type& SlicePort::type() {
  using S = SlicePort;
  static const Type t =
      structure<S>("v1.EndpointPort", {F(name), F(protocol), F(port), F(appProtocol)});
  return t;
}
const Type& EndpointSlice::type() {
  using S = EndpointSlice;
  static const Type t =
      structure<S>("v1.EndpointSlice", {F(metadata), F(addressType, .always = true),
                                        F(endpoints, .always = true, .atomic = true),
                                        F(ports, .always = true, .atomic = true)});
  return t;
}

const KindInfo& EndpointSlice::info() {
  static const KindInfo kind{
      .group = "discovery.k8s.io",
      .version = "v1",
      .kind = "EndpointSlice",
      .plural = "endpointslices",
      .singular = "endpointslice",
      .generation = true,
      .generation_of_labels = true,
      .type = &EndpointSlice::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<EndpointSlice>(); }};
  return kind;
}

}  // namespace ddptwin
