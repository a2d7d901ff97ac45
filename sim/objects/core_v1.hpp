// The core/v1 kinds: Namespace, Node, Pod, Service, Endpoints, ConfigMap, Secret, Event,
// ServiceAccount.
#pragma once

#include "objects/pod_spec.hpp"

namespace ddptwin {

// The condition of a node, service or namespace.
struct Condition {
  std::string type_{};
  std::string status{};              // True, False, Unknown
  OptionalTime lastHeartbeatTime{};  // nodes
  OptionalTime lastTransitionTime{};
  std::string reason{};
  std::string message{};
  Extra extra{};
  static const Type& type();
};

struct PodCondition {
  Text type_{};
  OptionalInt64 observedGeneration{};
  Text status{};                 // True, False, Unknown
  OptionalTime lastProbeTime{};  // null on the wire
  OptionalTime lastTransitionTime{};
  Text reason{};
  Text message{};
  Extra extra{};
  static const Type& type();
  bool operator==(const PodCondition&) const = default;
  // Statuses are compared before and after each write, and most of their conditions stay.
  bool same_as(const PodCondition& other) const { return *this == other; }
};

struct ContainerStateWaiting {
  Text reason{};
  Text message{};
  static const Type& type();
};
struct ContainerStateRunning {
  OptionalTime startedAt{};
  static const Type& type();
};
struct ContainerStateTerminated {
  std::int32_t exitCode = 0;
  std::int32_t signal = 0;
  Text reason{};
  Text message{};
  OptionalTime startedAt{};
  OptionalTime finishedAt{};
  SharedText containerID{};
  static const Type& type();
};
struct ContainerState {
  Rare<ContainerStateWaiting> waiting{};
  std::optional<ContainerStateRunning> running{};
  Rare<ContainerStateTerminated> terminated{};
  static const Type& type();
};

// (Fields go out in type()'s order.)
struct ContainerStatus {
  // What stays while a container runs: the statuses that tell of it share it.
  struct Rest {
    SharedText containerID{};
    SharedText image{};
    SharedText imageID{};
    Cow<ResourceList> allocatedResources{};
    Rare<ResourceRequirements> resources{};
    RawJson volumeMounts{};
    RawJson user{};
    RawJson allocatedResourcesStatus{};
    Rare<std::string> stopSignal{};
    Extra extra{};
  };

  ContainerState state{};
  Cow<ContainerState> lastState{};
  std::int32_t restartCount = 0;
  bool ready = false;
  std::optional<bool> started{};
  Text name{};
  Cow<Rest> rest{};
  static const Type& type();
};

struct IpEntry {  // PodIP, HostIP
  Text ip{};
  static const Type& type();
};

// In one line of the caches: what changes, and what is looked at to know a pod's state. (Fields go
// out in type()'s order.)
struct PodStatus {
  // What stays while a pod runs, or what few have: its versions, and the copies that a kubelet
  // keeps of them, share it.
  struct Rest {
    Text podIP{};
    Cow<std::vector<IpEntry>> podIPs{};
    Text hostIP{};
    Cow<std::vector<IpEntry>> hostIPs{};
    OptionalTime startTime{};
    Text qosClass{};
    Cow<ResourceList> allocatedResources{};
    Rare<ResourceRequirements> resources{};
    SharedText reason{};
    SharedText message{};
    SharedText nominatedNodeName{};
    SharedText resize{};
    RawJson ephemeralContainerStatuses{};
    RawJson resourceClaimStatuses{};
    RawJson extendedResourceClaimStatus{};
    Extra extra{};
  };

  Text phase{};
  Cow<std::vector<PodCondition>> conditions{};
  Cow<std::vector<ContainerStatus>> containerStatuses{};
  Cow<std::vector<ContainerStatus>> initContainerStatuses{};
  OptionalInt64 observedGeneration{};
  Cow<Rest> rest{};
  static const Type& type();

  // Surely equal: what is shared is the same memory. Statuses are compared before and after each
  // write.
  bool same_as(const PodStatus& other) const;
  const PodCondition* condition(std::string_view type) const;
};

struct Pod final : ObjectOf<Pod> {
  Pod() = default;
  // The same pod with another status.
  Pod(const Pod& other, const PodStatus& now)
      : ObjectOf(other), spec(other.spec), status(now), extra(other.extra) {}
  // Becomes that pod, but for the status.
  void take_all_but_status(const Pod& other) {
    Object::operator=(other);
    spec = other.spec;
    extra = other.extra;
  }

  Cow<PodSpec> spec{};
  PodStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct NamespaceSpec {
  std::vector<std::string> finalizers{};
  static const Type& type();
};
struct NamespaceStatus {
  std::string phase{};
  std::vector<Condition> conditions{};
  static const Type& type();
};
struct Namespace final : ObjectOf<Namespace> {
  NamespaceSpec spec{};
  NamespaceStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct Taint {
  std::string key{};
  std::string value{};
  std::string effect{};
  OptionalTime timeAdded{};
  static const Type& type();
};
struct NodeSpec {
  std::string podCIDR{};
  std::vector<std::string> podCIDRs{};
  std::string providerID{};
  bool unschedulable = false;
  std::vector<Taint> taints{};
  RawJson configSource{};
  std::string externalID{};
  static const Type& type();
};
struct NodeAddress {
  std::string type_{};
  std::string address{};
  static const Type& type();
};
struct NodeStatus {
  Cow<ResourceList> capacity{};
  Cow<ResourceList> allocatable{};
  std::string phase{};
  Cow<std::vector<Condition>> conditions{};
  Cow<std::vector<NodeAddress>> addresses{};
  RawJson daemonEndpoints{};
  RawJson nodeInfo{};
  RawJson images{};
  std::vector<std::string> volumesInUse{};
  RawJson volumesAttached{};
  RawJson config{};
  RawJson runtimeHandlers{};
  RawJson features{};
  RawJson declaredFeatures{};
  static const Type& type();
};
struct Node final : ObjectOf<Node> {
  NodeSpec spec{};
  NodeStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct ServicePort {
  std::string name{};
  std::string protocol{};
  std::optional<std::string> appProtocol{};
  std::int32_t port = 0;
  std::optional<IntOrString> targetPort{};
  std::int32_t nodePort = 0;
  static const Type& type();
};
struct ServiceSpec {
  std::vector<ServicePort> ports{};
  Cow<StringMap> selector{};
  std::string clusterIP{};
  std::vector<std::string> clusterIPs{};
  std::string type_{};
  Cow<std::vector<std::string>> externalIPs{};
  std::string sessionAffinity{};
  Cow<std::string> loadBalancerIP{};
  Cow<std::vector<std::string>> loadBalancerSourceRanges{};
  Cow<std::string> externalName{};
  Cow<std::string> externalTrafficPolicy{};
  std::int32_t healthCheckNodePort = 0;
  bool publishNotReadyAddresses = false;
  RawJson sessionAffinityConfig{};
  std::vector<std::string> ipFamilies{};
  std::optional<std::string> ipFamilyPolicy{};
  std::optional<bool> allocateLoadBalancerNodePorts{};
  Rare<std::string> loadBalancerClass{};
  std::optional<std::string> internalTrafficPolicy{};
  Rare<std::string> trafficDistribution{};
  static const Type& type();
};
struct ServiceStatus {
  RawJson loadBalancer{};
  std::vector<Condition> conditions{};
  static const Type& type();
};
struct Service final : ObjectOf<Service> {
  Cow<ServiceSpec> spec{};
  ServiceStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct ObjectReference {
  Text kind{};
  Text namespace_{};
  Text name{};
  SharedText uid{};
  Text apiVersion{};
  Text resourceVersion{};
  Text fieldPath{};
  static const Type& type();
  bool operator==(const ObjectReference&) const = default;
};

// The body of a create of pods/binding; never stored.
struct Binding final : ObjectOf<Binding> {
  ObjectReference target{};
  static const KindInfo& info();
  static const Type& type();
};

// One line of a cache, of which nothing but the reference lies elsewhere.
struct EndpointAddress {
  Text ip{};
  Text hostname{};
  std::optional<Text> nodeName{};
  Rare<ObjectReference> targetRef{};
  static const Type& type();
};
struct EndpointPort {
  std::string name{};
  std::int32_t port = 0;
  std::string protocol{};
  std::optional<std::string> appProtocol{};
  bool operator==(const EndpointPort&) const = default;
  static const Type& type();
};
struct EndpointSubset {
  std::vector<EndpointAddress> addresses{};
  std::vector<EndpointAddress> notReadyAddresses{};
  Cow<std::vector<EndpointPort>> ports{};  // of most Endpoints the same
  static const Type& type();
};
struct Endpoints final : ObjectOf<Endpoints> {
  std::vector<EndpointSubset> subsets{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct ConfigMap final : ObjectOf<ConfigMap> {
  std::optional<bool> immutable{};
  Cow<StringMap> data{};
  std::map<std::string, std::vector<std::uint8_t>, std::less<>> binaryData{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct Secret final : ObjectOf<Secret> {
  std::optional<bool> immutable{};
  std::map<std::string, std::vector<std::uint8_t>, std::less<>> data{};
  StringMap stringData{};  // write-only: folded into data on the way in
  std::string type_{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct EventSource {
  Text component{};
  Text host{};
  static const Type& type();
};
// core/v1 Event (also served as events.k8s.io/v1 in a real cluster).
struct Event final : ObjectOf<Event> {
  // Who reported it, the same memory in all Events of one reporter, and what the newer form adds.
  struct Rest {
    EventSource source{};
    std::optional<MicroTime> eventTime{};
    RawJson series{};
    Text action{};
    Rare<ObjectReference> related{};
    Text reportingComponent{};
    Text reportingInstance{};
    Extra extra{};
  };

  Cow<ObjectReference> involvedObject{};
  Text reason{};
  Text message{};
  OptionalTime firstTimestamp{};
  OptionalTime lastTimestamp{};
  std::int32_t count = 0;
  Text type_{};  // Normal, Warning
  Cow<Rest> rest{};
  static const KindInfo& info();
  static const Type& type();
};

struct ServiceAccount final : ObjectOf<ServiceAccount> {
  std::vector<ObjectReference> secrets{};
  std::vector<NamedItem> imagePullSecrets{};
  std::optional<bool> automountServiceAccountToken{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
