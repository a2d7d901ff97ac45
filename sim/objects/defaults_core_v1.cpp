#include <algorithm>
#include <boost/json.hpp>

#include "objects/defaults.hpp"

namespace ddptwin {
namespace {

void default_ports(ServiceSpec& spec) {
  for (ServicePort& port : spec.ports) {
    if (port.protocol.empty()) port.protocol = "TCP";
    const bool unset = !port.targetPort ||
                       (port.targetPort->number == 0 && !port.targetPort->is_text) ||
                       (port.targetPort->is_text && port.targetPort->text.empty());
    if (unset) port.targetPort = IntOrString{port.port, {}, false};
  }
}

// One stack: IPv4. A headless service that selects nothing is asked to serve both families.
void default_families(ServiceSpec& spec) {
  const bool unselective_headless = spec.clusterIP == "None" && spec.selector.empty();
  if (!spec.ipFamilyPolicy)
    spec.ipFamilyPolicy = unselective_headless ? "RequireDualStack" : "SingleStack";
  if (spec.ipFamilies.empty()) spec.ipFamilies = {"IPv4"};
  if (*spec.ipFamilyPolicy == "RequireDualStack" && spec.ipFamilies.size() == 1 &&
      unselective_headless)
    spec.ipFamilies.push_back(spec.ipFamilies.front() == "IPv4" ? "IPv6" : "IPv4");
}

}  // namespace

void default_service(Service& service) {
  ServiceSpec& spec = service.spec.edit();
  if (spec.sessionAffinity.empty()) spec.sessionAffinity = "None";
  if (spec.type_.empty()) spec.type_ = "ClusterIP";
  default_ports(spec);
  if (spec.type_ == "ExternalName") return;
  if (!spec.internalTrafficPolicy) spec.internalTrafficPolicy = "Cluster";
  if (spec.type_ != "ClusterIP" && spec.externalTrafficPolicy.empty())
    spec.externalTrafficPolicy = "Cluster";
  if (spec.type_ == "LoadBalancer" && !spec.allocateLoadBalancerNodePorts)
    spec.allocateLoadBalancerNodePorts = true;
  if (spec.clusterIPs.empty() && !spec.clusterIP.empty()) spec.clusterIPs = {spec.clusterIP};
  if (spec.clusterIP.empty() && !spec.clusterIPs.empty()) spec.clusterIP = spec.clusterIPs.front();
  default_families(spec);
}

void default_secret(Secret& secret) {
  if (secret.type_.empty()) secret.type_ = "Opaque";
  for (const auto& [key, value] : secret.stringData) {
    const std::string_view text = value;
    secret.data[key.str()] = std::vector<std::uint8_t>(text.begin(), text.end());
  }
  secret.stringData.clear();
}

void default_endpoints(Endpoints& endpoints) {
  const auto lacks_protocol = [](const EndpointPort& port) { return port.protocol.empty(); };
  for (EndpointSubset& subset : endpoints.subsets)
    if (std::any_of(subset.ports.begin(), subset.ports.end(), lacks_protocol))
      for (EndpointPort& port : subset.ports.edit())
        if (lacks_protocol(port)) port.protocol = "TCP";
}

void default_node(Node& node) {
  if (node.status.allocatable.empty()) node.status.allocatable = node.status.capacity;
}

}  // namespace ddptwin
