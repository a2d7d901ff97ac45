// Objects for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "objects/discovery_v1.hpp"

namespace ddptwin::dns::test {

inline ObjectPtr namespace_(const std::string& name) {
  auto object = std::make_shared<Namespace>();
  object->metadata.name = name;
  return object;
}

struct Port {
  std::string name;
  std::int32_t number;
  std::string protocol = "TCP";
};

inline std::shared_ptr<Service> service(const std::string& name, const std::string& cluster_ip,
                                        const std::vector<Port>& ports = {}) {
  auto object = std::make_shared<Service>();
  object->metadata.namespace_ = "ns";
  object->metadata.name = name;
  ServiceSpec& spec = object->spec.edit();
  spec.clusterIP = cluster_ip;
  spec.clusterIPs = {cluster_ip};
  for (const Port& port : ports)
    spec.ports.push_back({.name = port.name, .protocol = port.protocol, .port = port.number});
  return object;
}

inline Endpoint endpoint(const std::string& ip, const std::string& hostname = {},
                         bool ready = true) {
  Endpoint out{.addresses = {ip}, .conditions = {.ready = ready}};
  if (!hostname.empty()) out.hostname = hostname;
  return out;
}

inline std::shared_ptr<EndpointSlice> slice(const std::string& service_name,
                                            std::vector<Endpoint> endpoints,
                                            const std::vector<Port>& ports = {}) {
  auto object = std::make_shared<EndpointSlice>();
  object->metadata.namespace_ = "ns";
  object->metadata.name = service_name + "-x";
  object->metadata.labels = StringMap{{"kubernetes.io/service-name", service_name}};
  object->addressType = "IPv4";
  object->endpoints = std::move(endpoints);
  for (const Port& port : ports)
    object->ports.edit().push_back(
        {.name = port.name, .protocol = port.protocol, .port = port.number});
  return object;
}

}  // namespace ddptwin::dns::test
