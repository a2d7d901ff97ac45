#include "scenario/world/first_objects.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

namespace ddptwin {
namespace {

// What a node of the recordings has, where its options do not say otherwise.
const Cow<ResourceList>& default_capacity() {
  static const Cow<ResourceList> capacity{{"cpu", Quantity::of(32)},
                                          {"memory", *Quantity::parse("256Gi")},
                                          {"pods", Quantity::of(110)},
                                          {"nvidia.com/gpu", Quantity::of(8)},
                                          {"ephemeral-storage", *Quantity::parse("1Ti")}};
  return capacity;
}

Cow<ResourceList> capacity_of(const NodeOptions& options) {
  if (options.capacity.empty()) return default_capacity();
  ResourceList capacity = options.capacity;
  for (const auto& [name, amount] : default_capacity()) capacity.emplace(name, amount);
  return capacity;
}

// What the kubelet of a healthy node posts.
struct NodeConditionRow {
  std::string_view type, status, reason, message;
};
constexpr std::array node_conditions{
    NodeConditionRow{"MemoryPressure", "False", "KubeletHasSufficientMemory",
                     "kubelet has sufficient memory available"},
    NodeConditionRow{"DiskPressure", "False", "KubeletHasNoDiskPressure",
                     "kubelet has no disk pressure"},
    NodeConditionRow{"PIDPressure", "False", "KubeletHasSufficientPID",
                     "kubelet has sufficient PID available"},
    NodeConditionRow{"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
};

// v1.NodeSystemInfo of a machine that tells nothing about itself.
const RawJson& unknown_node_info() {
  static const RawJson unknown = [] {
    boost::json::object info;
    for (const char* field : {"machineID", "systemUUID", "bootID", "kernelVersion", "osImage",
                              "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion",
                              "operatingSystem", "architecture"})
      info[field] = "";
    return RawJson(std::move(info));
  }();
  return unknown;
}

// v1.NodeDaemonEndpoints of a kubelet that serves nothing.
const RawJson& no_daemon_endpoints() {
  static const RawJson none(
      boost::json::object{{"kubeletEndpoint", boost::json::object{{"Port", 0}}}});
  return none;
}

}  // namespace

std::shared_ptr<Node> node_object(const NodeOptions& options, Time now) {
  auto node = std::make_shared<Node>();
  node->metadata.name = options.name;
  StringMap& labels = node->metadata.labels.edit();
  labels = options.labels;
  labels.emplace("kubernetes.io/hostname", options.name);
  labels.emplace("kubernetes.io/os", "linux");
  labels.emplace("kubernetes.io/arch", "amd64");
  node->metadata.annotations.edit()["node.alpha.kubernetes.io/ttl"] = "0";
  node->spec.taints = options.taints;
  node->spec.unschedulable = options.unschedulable;
  node->status.capacity = capacity_of(options);
  node->status.allocatable = node->status.capacity;
  node->status.addresses = {NodeAddress{"InternalIP", options.address},
                            NodeAddress{"Hostname", options.name}};
  node->status.daemonEndpoints = no_daemon_endpoints();
  node->status.nodeInfo = unknown_node_info();
  std::vector<Condition>& conditions = node->status.conditions.edit();
  conditions.reserve(node_conditions.size());
  for (const NodeConditionRow& row : node_conditions) {
    Condition& condition = conditions.emplace_back();
    condition.type_ = row.type;
    condition.status = row.status;
    condition.reason = row.reason;
    condition.message = row.message;
    condition.lastHeartbeatTime = now;
    condition.lastTransitionTime = now;
  }
  return node;
}

bool make_healthy(Node& node, Time now) {
  bool changed = false;
  for (const NodeConditionRow& row : node_conditions) {
    const auto& all = *node.status.conditions;
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&row](const Condition& one) { return one.type_ == row.type; });
    if (found != all.end() && found->status == row.status) continue;
    const auto place = found - all.begin();
    auto& conditions = node.status.conditions.edit();
    if (place == static_cast<std::ptrdiff_t>(conditions.size()))
      conditions.emplace_back().type_ = row.type;
    Condition& condition = conditions[static_cast<std::size_t>(place)];
    condition.status = row.status;
    condition.reason = row.reason;
    condition.message = row.message;
    condition.lastHeartbeatTime = now;
    condition.lastTransitionTime = now;
    changed = true;
  }
  return changed;
}

bool make_stopping(Node& node, Time now) {
  for (Condition& condition : node.status.conditions.edit()) {
    if (condition.type_ != "Ready" || condition.status == "False") continue;
    condition.status = "False";
    condition.reason = "KubeletNotReady";
    condition.message = "node is shutting down";
    condition.lastHeartbeatTime = now;
    condition.lastTransitionTime = now;
    return true;
  }
  return false;
}

std::string resolv_conf(const DnsConfig& dns) {
  std::string text;
  for (const std::string& server : dns.servers) text += "nameserver " + server + "\n";
  if (!dns.searches.empty()) {
    text += "search";
    for (const std::string& search : dns.searches) text += " " + search;
    text += "\n";
  }
  if (!dns.options.empty()) {
    text += "options";
    for (const std::string& option : dns.options) text += " " + option;
    text += "\n";
  }
  return text;
}

std::shared_ptr<Service> api_service() {
  auto service = std::make_shared<Service>();
  service->metadata.name = "kubernetes";
  service->metadata.namespace_ = "default";
  service->metadata.labels = StringMap{{"component", "apiserver"}, {"provider", "kubernetes"}};
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = "10.0.0.1";
  spec.clusterIPs = {spec.clusterIP};
  spec.type_ = "ClusterIP";
  ServicePort https;
  https.name = "https";
  https.protocol = "TCP";
  https.port = 443;
  https.targetPort = IntOrString{6443, {}, false};
  spec.ports.push_back(std::move(https));
  return service;
}

std::shared_ptr<Service> dns_service(const std::string& address) {
  auto service = std::make_shared<Service>();
  service->metadata.name = "kube-dns";
  service->metadata.namespace_ = "kube-system";
  service->metadata.labels = StringMap{{"k8s-app", "kube-dns"},
                                       {"kubernetes.io/cluster-service", "true"},
                                       {"kubernetes.io/name", "CoreDNS"}};
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = address;
  spec.clusterIPs = {spec.clusterIP};
  spec.type_ = "ClusterIP";
  for (const auto& [name, protocol, number] :
       {std::tuple{"dns", "UDP", 53}, {"dns-tcp", "TCP", 53}, {"metrics", "TCP", 9153}}) {
    ServicePort port;
    port.name = name;
    port.protocol = protocol;
    port.port = number;
    port.targetPort = IntOrString{number, {}, false};
    spec.ports.push_back(std::move(port));
  }
  return service;
}

std::shared_ptr<StorageClass> standard_class() {
  auto made = std::make_shared<StorageClass>();
  made->metadata.name = default_class_name;
  made->metadata.annotations.edit()[is_default_class] = "true";
  made->provisioner = default_class_provisioner;
  made->volumeBindingMode = "WaitForFirstConsumer";
  return made;
}

}  // namespace ddptwin
