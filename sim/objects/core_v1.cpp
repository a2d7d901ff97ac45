#include "objects/core_v1.hpp"

#include "objects/fields.hpp"

namespace ddptwin {

const Type& Condition::type() {
  using S = Condition;
  static const Type t = structure<S>(
      "v1.Condition", {F(type_, .always = true), F(status, .always = true), F(lastHeartbeatTime),
                       F(lastTransitionTime), F(reason), F(message)});
  return t;
}
const Type& PodCondition::type() {
  using S = PodCondition;
  static const Type t = structure<S>(
      "v1.PodCondition", {F(type_, .always = true), F(observedGeneration),
                          F(status, .always = true), F(lastProbeTime, .always = true),
                          F(lastTransitionTime, .always = true), F(reason), F(message)});
  return t;
}
const Type& ContainerStateWaiting::type() {
  using S = ContainerStateWaiting;
  static const Type t = structure<S>("v1.ContainerStateWaiting", {F(reason), F(message)});
  return t;
}
const Type& ContainerStateRunning::type() {
  using S = ContainerStateRunning;
  static const Type t = structure<S>("v1.ContainerStateRunning", {F(startedAt, .always = true)});
  return t;
}
const Type& ContainerStateTerminated::type() {
  using S = ContainerStateTerminated;
  static const Type t =
      structure<S>("v1.ContainerStateTerminated",
                   {F(exitCode, .always = true), F(signal), F(reason), F(message),
                    F(startedAt, .always = true), F(finishedAt, .always = true), F(containerID)});
  return t;
}
const Type& ContainerState::type() {
  using S = ContainerState;
  static const Type t = structure<S>("v1.ContainerState", {F(waiting), F(running), F(terminated)});
  return t;
}
const Type& ContainerStatus::type() {
  using S = ContainerStatus;
  static const Type t = structure<S>(
      "v1.ContainerStatus",
      {F(name, .always = true), F(state), F(lastState), F(ready, .always = true),
       F(restartCount, .always = true), PART(rest, image, .always = true),
       PART(rest, imageID, .always = true), PART(rest, containerID), F(started),
       PART(rest, allocatedResources), PART(rest, resources),
       PART(rest, volumeMounts, .merge = Merge::merge, .merge_key = "mountPath"), PART(rest, user),
       PART(rest, allocatedResourcesStatus, .merge = Merge::merge, .merge_key = "name"),
       PART(rest, stopSignal)});
  return t;
}
const Type& IpEntry::type() {
  using S = IpEntry;
  static const Type t = structure<S>("v1.PodIP", {F(ip)});
  return t;
}
const Type& PodStatus::type() {
  using S = PodStatus;
  static const Type t = structure<S>(
      "v1.PodStatus",
      {F(observedGeneration),
       F(phase),
       F(conditions, .merge = Merge::merge, .merge_key = "type"),
       PART(rest, message),
       PART(rest, reason),
       PART(rest, nominatedNodeName),
       PART(rest, hostIP),
       PART(rest, hostIPs, .merge = Merge::merge, .merge_key = "ip"),
       PART(rest, podIP),
       PART(rest, podIPs, .merge = Merge::merge, .merge_key = "ip"),
       PART(rest, startTime),
       F(initContainerStatuses),
       F(containerStatuses),
       PART(rest, qosClass),
       PART(rest, ephemeralContainerStatuses),
       PART(rest, resize),
       PART(rest, resourceClaimStatuses, .merge = Merge::merge_retain_keys, .merge_key = "name"),
       PART(rest, extendedResourceClaimStatus),
       PART(rest, allocatedResources),
       PART(rest, resources)});
  return t;
}

// All members, so that one that is added does not compile until it is compared; first the lists
// that change.
bool PodStatus::same_as(const PodStatus& other) const {
  const auto& [a1, a2, a3, a4, a5, a6] = *this;
  const auto& [b1, b2, b3, b4, b5, b6] = other;
  return surely_same(a2, b2) && surely_same(a3, b3) && surely_same(a4, b4) && surely_same(a1, b1) &&
         surely_same(a5, b5) && surely_same(a6, b6);
}

const PodCondition* PodStatus::condition(std::string_view wanted) const {
  for (const PodCondition& c : conditions)
    if (c.type_ == wanted) return &c;
  return nullptr;
}
const Type& Pod::type() {
  using S = Pod;
  static const Type t = structure<S>("v1.Pod", {F(metadata), F(spec), F(status)});
  return t;
}

const Type& NamespaceSpec::type() {
  using S = NamespaceSpec;
  static const Type t = structure<S>("v1.NamespaceSpec", {F(finalizers)});
  return t;
}
const Type& NamespaceStatus::type() {
  using S = NamespaceStatus;
  static const Type t = structure<S>(
      "v1.NamespaceStatus", {F(phase), F(conditions, .merge = Merge::merge, .merge_key = "type")});
  return t;
}
const Type& Namespace::type() {
  using S = Namespace;
  static const Type t = structure<S>("v1.Namespace", {F(metadata), F(spec), F(status)});
  return t;
}

const Type& Taint::type() {
  using S = Taint;
  static const Type t = structure<S>(
      "v1.Taint", {F(key, .always = true), F(value), F(effect, .always = true), F(timeAdded)});
  return t;
}
const Type& NodeSpec::type() {
  using S = NodeSpec;
  static const Type t = structure<S>(
      "v1.NodeSpec", {F(podCIDR), F(podCIDRs, .merge = Merge::merge, .set = true), F(providerID),
                      F(unschedulable), F(taints), F(configSource), F(externalID)});
  return t;
}
const Type& NodeAddress::type() {
  using S = NodeAddress;
  static const Type t =
      structure<S>("v1.NodeAddress", {F(type_, .always = true), F(address, .always = true)});
  return t;
}
const Type& NodeStatus::type() {
  using S = NodeStatus;
  static const Type t =
      structure<S>("v1.NodeStatus",
                   {F(capacity), F(allocatable), F(phase),
                    F(conditions, .merge = Merge::merge, .merge_key = "type"),
                    F(addresses, .merge = Merge::merge, .merge_key = "type"), F(daemonEndpoints),
                    F(nodeInfo), F(images), F(volumesInUse), F(volumesAttached), F(config),
                    F(runtimeHandlers), F(features), F(declaredFeatures)});
  return t;
}
const Type& Node::type() {
  using S = Node;
  static const Type t = structure<S>("v1.Node", {F(metadata), F(spec), F(status)});
  return t;
}

const Type& ServicePort::type() {
  using S = ServicePort;
  static const Type t = structure<S>(
      "v1.ServicePort",
      {F(name), F(protocol), F(appProtocol), F(port, .always = true), F(targetPort), F(nodePort)});
  return t;
}
const Type& ServiceSpec::type() {
  using S = ServiceSpec;
  static const Type t = structure<S>(
      "v1.ServiceSpec",
      {F(ports, .merge = Merge::merge, .merge_key = "port", .list_keys = "port,protocol"),
       F(selector, .atomic = true),
       F(clusterIP),
       F(clusterIPs),
       F(type_),
       F(externalIPs),
       F(sessionAffinity),
       F(loadBalancerIP),
       F(loadBalancerSourceRanges),
       F(externalName),
       F(externalTrafficPolicy),
       F(healthCheckNodePort),
       F(publishNotReadyAddresses),
       F(sessionAffinityConfig),
       F(ipFamilies),
       F(ipFamilyPolicy),
       F(allocateLoadBalancerNodePorts),
       F(loadBalancerClass),
       F(internalTrafficPolicy),
       F(trafficDistribution)});
  return t;
}
const Type& ServiceStatus::type() {
  using S = ServiceStatus;
  static const Type t =
      structure<S>("v1.ServiceStatus",
                   {F(loadBalancer), F(conditions, .merge = Merge::merge, .merge_key = "type")});
  return t;
}
const Type& Service::type() {
  using S = Service;
  static const Type t = structure<S>("v1.Service", {F(metadata), F(spec), F(status)});
  return t;
}

const Type& ObjectReference::type() {
  using S = ObjectReference;
  static const Type t = structure<S>(
      "v1.ObjectReference",
      {F(kind), F(namespace_), F(name), F(uid), F(apiVersion), F(resourceVersion), F(fieldPath)});
  return t;
}
const Type& Binding::type() {
  using S = Binding;
  static const Type t = structure<S>("v1.Binding", {F(metadata), F(target)});
  return t;
}
const Type& EndpointAddress::type() {
  using S = EndpointAddress;
  static const Type t = structure<S>(
      "v1.EndpointAddress", {F(ip, .always = true), F(hostname), F(nodeName), F(targetRef)});
  return t;
}
const Type& EndpointPort::type() {
  using S = EndpointPort;
  static const Type t = structure<S>(
      "v1.EndpointPort", {F(name), F(port, .always = true), F(protocol), F(appProtocol)});
  return t;
}
const Type& EndpointSubset::type() {
  using S = EndpointSubset;
  static const Type t =
      structure<S>("v1.EndpointSubset", {F(addresses), F(notReadyAddresses), F(ports)});
  return t;
}
const Type& Endpoints::type() {
  using S = Endpoints;
  static const Type t = structure<S>("v1.Endpoints", {F(metadata), F(subsets)});
  return t;
}

const Type& ConfigMap::type() {
  using S = ConfigMap;
  static const Type t =
      structure<S>("v1.ConfigMap", {F(metadata), F(immutable), F(data), F(binaryData)});
  return t;
}
const Type& Secret::type() {
  using S = Secret;
  static const Type t =
      structure<S>("v1.Secret", {F(metadata), F(immutable), F(data), F(stringData), F(type_)});
  return t;
}

const Type& EventSource::type() {
  using S = EventSource;
  static const Type t = structure<S>("v1.EventSource", {F(component), F(host)});
  return t;
}
const Type& Event::type() {
  using S = Event;
  static const Type t = structure<S>(
      "v1.Event", {F(metadata), F(involvedObject, .always = true), F(reason), F(message),
                   PART(rest, source), F(firstTimestamp), F(lastTimestamp), F(count), F(type_),
                   PART(rest, eventTime, .always = true), PART(rest, series), PART(rest, action),
                   PART(rest, related), PART(rest, reportingComponent, .always = true),
                   PART(rest, reportingInstance, .always = true)});
  return t;
}
const Type& ServiceAccount::type() {
  using S = ServiceAccount;
  static const Type t = structure<S>(
      "v1.ServiceAccount", {F(metadata), F(secrets, .merge = Merge::merge, .merge_key = "name"),
                            F(imagePullSecrets), F(automountServiceAccountToken)});
  return t;
}

}  // namespace ddptwin
