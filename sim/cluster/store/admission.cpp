#include "cluster/store/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/node_v1.hpp"
#include "objects/validation.hpp"
#include "objects/volumes.hpp"

namespace ddptwin {
namespace {

using Warnings = std::vector<std::string>;

constexpr std::string_view not_ready = "node.kubernetes.io/not-ready";
constexpr std::string_view unreachable = "node.kubernetes.io/unreachable";
constexpr std::int64_t toleration_seconds = 300;

bool tolerates_no_execute(const std::vector<Toleration>& tolerations, std::string_view key) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& t) {
    return (t.key == key || t.key.empty()) && (t.effect == "NoExecute" || t.effect.empty());
  });
}

// DefaultTolerationSeconds: a pod survives five minutes of a lost node. Who takes the tolerations
// away finds them again.
Result<Warnings> add_tolerations(const AdmissionRequest& request) {
  auto& pod = static_cast<Pod&>(*request.object);
  if (!request.subresource.empty()) return Warnings();
  if (request.old != nullptr && pod.spec.same_as(static_cast<const Pod&>(*request.old).spec))
    return Warnings();
  if (tolerates_no_execute(pod.spec->tolerations, not_ready) &&
      tolerates_no_execute(pod.spec->tolerations, unreachable))
    return Warnings();
  PodSpec& spec = pod.spec.edit();
  const auto toleration = [](std::string_view key) {
    return Toleration{std::string(key), "Exists", {}, "NoExecute", toleration_seconds};
  };
  // Nearly every pod has these two and no others: they share one list.
  static const Cow<std::vector<Toleration>> both{
      std::vector{toleration(not_ready), toleration(unreachable)}};
  if (spec.tolerations.empty()) {
    spec.tolerations = both;
    return Warnings();
  }
  for (const Toleration& one : both)
    if (!tolerates_no_execute(spec.tolerations, one.key)) spec.tolerations.edit().push_back(one);
  return Warnings();
}

struct PriorityOf {
  std::int32_t value = 0;
  std::string preemption = "PreemptLowerPriority";
};

std::optional<PriorityOf> find_priority_class(const Store& store, const std::string& name) {
  // These two exist in every cluster.
  if (name == "system-cluster-critical") return PriorityOf{2'000'000'000};
  if (name == "system-node-critical") return PriorityOf{2'000'001'000};
  const KindInfo* kind = store.kinds().find("scheduling.k8s.io/v1", "PriorityClass");
  const ObjectPtr found = kind != nullptr ? store.find(*kind, {}, name) : nullptr;
  if (found == nullptr) return std::nullopt;
  const Json json = encode(*found);
  const auto& members = json.get_object();
  PriorityOf out;
  if (const Json* value = members.if_contains("value"); value != nullptr && value->is_int64())
    out.value = static_cast<std::int32_t>(value->get_int64());
  if (const Json* policy = members.if_contains("preemptionPolicy");
      policy != nullptr && policy->is_string())
    out.preemption = std::string(policy->get_string());
  return out;
}

// The class that is meant for pods without one, if the cluster has it.
std::string default_priority_class(const Store& store) {
  const KindInfo* kind = store.kinds().find("scheduling.k8s.io/v1", "PriorityClass");
  if (kind == nullptr) return {};
  for (const auto& [name, object] : store.objects(*kind)) {
    const Json json = encode(*object);
    const Json* global = json.get_object().if_contains("globalDefault");
    if (global != nullptr && global->is_bool() && global->get_bool()) return name;
  }
  return {};
}

// Priority admission: a class's name becomes a number.
Result<Warnings> set_priority(const Store& store, const AdmissionRequest& request) {
  auto& pod = static_cast<Pod&>(*request.object);
  PodSpec& spec = pod.spec.edit();
  if (spec.rest->priorityClassName.empty())
    set(spec.rest, &PodSpec::Rest::priorityClassName, default_priority_class(store));
  PriorityOf priority;
  if (!spec.rest->priorityClassName.empty()) {
    const auto found = find_priority_class(store, spec.rest->priorityClassName);
    if (!found)
      return fail(forbidden_error(
          request.kind, pod.metadata.name,
          fmt::format("no PriorityClass with name {} was found", spec.rest->priorityClassName)));
    priority = *found;
  }
  if (spec.priority && *spec.priority != priority.value)
    return fail(forbidden_error(
        request.kind, pod.metadata.name,
        fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority "
                    "admission controller computed {} from the given PriorityClass name",
                    *spec.priority, priority.value)));
  spec.priority = priority.value;
  if (!spec.preemptionPolicy) spec.preemptionPolicy = priority.preemption;
  return Warnings();
}

// TaintNodesByCondition: nothing is placed on a node before it says that it is ready.
Result<Warnings> taint_new_node(const AdmissionRequest& request) {
  auto& taints = static_cast<Node&>(*request.object).spec.taints;
  const bool there = std::any_of(taints.begin(), taints.end(), [](const Taint& taint) {
    return taint.key == not_ready && taint.effect == "NoSchedule";
  });
  if (!there) taints.push_back({std::string(not_ready), {}, "NoSchedule", std::nullopt});
  return Warnings();
}

Result<Warnings> label_placed_pod(const Store& store, const AdmissionRequest& request) {
  auto& pod = static_cast<Pod&>(*request.object);
  if (!pod.spec->nodeName.empty()) copy_topology_labels(store, pod);
  return Warnings();
}

constexpr std::uint32_t service_network = 10u << 24;  // 10.0.0.0/16
constexpr std::uint32_t first_address = 11;           // 10.0.0.10 is the cluster's DNS
constexpr std::uint32_t last_address = 0xfffe;
constexpr std::int32_t first_node_port = 30000, last_node_port = 32767;

std::string address_text(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255,
                     address & 255);
}

Status allocate_address(const Store& store, ServiceSpec& spec) {
  std::set<std::string, std::less<>> used;
  for (const auto& [key, object] : store.objects(Service::info()))
    used.insert(static_cast<const Service&>(*object).spec->clusterIP);
  for (std::uint32_t i = first_address; i <= last_address; ++i) {
    std::string text = address_text(service_network | i);
    if (used.contains(text)) continue;
    spec.clusterIP = text;
    spec.clusterIPs = {std::move(text)};
    return {};
  }
  return fail(Reason::internal_error,
              "Internal error occurred: failed to allocate a serviceIP: range is full");
}

void allocate_node_ports(const Store& store, ServiceSpec& spec) {
  std::set<std::int32_t> used;
  for (const auto& [key, object] : store.objects(Service::info()))
    for (const ServicePort& port : static_cast<const Service&>(*object).spec->ports)
      used.insert(port.nodePort);
  for (const ServicePort& port : spec.ports) used.insert(port.nodePort);
  std::int32_t next = first_node_port;
  for (ServicePort& port : spec.ports) {
    if (port.nodePort != 0) continue;
    while (next <= last_node_port && used.contains(next)) ++next;
    if (next <= last_node_port) port.nodePort = next++;
  }
}

// The service registry's allocators.
Result<Warnings> allocate_service(const Store& store, const AdmissionRequest& request) {
  if (request.object == nullptr || !request.subresource.empty()) return Warnings();
  Cow<ServiceSpec>& spec = static_cast<Service&>(*request.object).spec;
  if (spec->type_ == "ExternalName") return Warnings();
  if (spec->clusterIP.empty()) TRY_VOID(allocate_address(store, spec.edit()));
  const bool on_nodes =
      spec->type_ == "NodePort" ||
      (spec->type_ == "LoadBalancer" && spec->allocateLoadBalancerNodePorts.value_or(true));
  if (on_nodes) allocate_node_ports(store, spec.edit());
  return Warnings();
}

}  // namespace

void copy_topology_labels(const Store& store, Pod& pod) {
  const auto node = store.find<Node>({}, pod.spec->nodeName);
  if (node == nullptr) return;
  for (const char* key : {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
    if (const Text* value = node->metadata.label(key)) pod.metadata.labels.edit()[key] = *value;
}

namespace {

// The account `default` is made in every namespace.
Result<Warnings> check_account(const Store& store, const AdmissionRequest& request) {
  const auto& pod = static_cast<const Pod&>(*request.object);
  const std::string& name = pod.spec->rest->serviceAccountName;
  if (name.empty() || name == "default" ||
      store.find<ServiceAccount>(pod.metadata.namespace_, name) != nullptr)
    return Warnings();
  return fail(forbidden_error(
      request.kind, pod.metadata.name,
      fmt::format("error looking up service account {}/{}: serviceaccount \"{}\" not found",
                  pod.metadata.namespace_, name, name)));
}

Result<Warnings> apply_runtime_class(const Store& store, const AdmissionRequest& request) {
  auto& pod = static_cast<Pod&>(*request.object);
  const auto refused = [&](std::string why) {
    return fail(forbidden_error(request.kind, pod.metadata.name, std::move(why)));
  };
  constexpr std::string_view without =
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
  const auto& named = pod.spec->rest->runtimeClassName;
  if (!named || named->empty())
    return pod.spec->overhead.empty() ? Result<Warnings>(Warnings())
                                      : Result<Warnings>(refused(std::string(without)));
  const std::string& name = *named;
  const auto found = store.find<RuntimeClass>({}, name);
  if (found == nullptr)
    return refused(fmt::format("pod rejected: RuntimeClass \"{}\" not found", name));
  const RuntimeClass& class_ = *found;
  PodSpec& spec = pod.spec.edit();
  if (class_.overhead) {
    if (!spec.overhead.empty() && *spec.overhead != *class_.overhead->podFixed)
      return refused("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    spec.overhead = class_.overhead->podFixed;
  } else if (!spec.overhead.empty()) {
    return refused(std::string(without));
  }
  if (!class_.scheduling) return Warnings();
  for (const auto& [key, value] : *class_.scheduling->nodeSelector) {
    const auto own = spec.nodeSelector->find(key);
    if (own != spec.nodeSelector->end() && own->second != value)
      return refused(fmt::format(
          "conflict: runtimeClass.scheduling.nodeSelector[{}] = {}; pod.spec.nodeSelector[{}] = {}",
          key.str(), value.str(), key.str(), own->second.str()));
    spec.nodeSelector.edit()[key] = value;
  }
  for (const Toleration& one : *class_.scheduling->tolerations)
    spec.tolerations.edit().push_back(one);
  return Warnings();
}

}  // namespace

void add_pod_reference_admission(Store& store) {
  store.add_admission(
      AdmissionPhase::mutating,
      [&store](const auto& request) { return check_account(store, request); }, &Pod::info(),
      api::Verb::create);
  store.add_admission(
      AdmissionPhase::mutating,
      [&store](const auto& request) { return apply_runtime_class(store, request); }, &Pod::info(),
      api::Verb::create);
}

void add_default_class_admission(Store& store) {
  store.add_admission(
      AdmissionPhase::mutating,
      [&store](const AdmissionRequest& request) -> Result<Warnings> {
        auto& claim = static_cast<PersistentVolumeClaim&>(*request.object);
        if (claim.spec.storageClassName) return Warnings();
        std::vector<StorageClassPtr> classes;
        for (const auto& [key, object] : store.objects(StorageClass::info()))
          classes.push_back(as<StorageClass>(object));
        if (const StorageClassPtr found = default_class(classes))
          claim.spec.storageClassName = found->metadata.name.str();
        return Warnings();
      },
      &PersistentVolumeClaim::info(), api::Verb::create);
}

void add_default_admission(Store& store) {
  const auto on_create = [&store](const KindInfo& kind, AdmissionHook hook) {
    store.add_admission(AdmissionPhase::mutating, std::move(hook), &kind, api::Verb::create);
  };
  on_create(Pod::info(), &add_tolerations);
  store.add_admission(AdmissionPhase::mutating, &add_tolerations, &Pod::info(), api::Verb::update);
  on_create(Pod::info(), [&store](const auto& request) { return set_priority(store, request); });
  on_create(Pod::info(),
            [&store](const auto& request) { return label_placed_pod(store, request); });
  on_create(Node::info(), &taint_new_node);
  store.add_admission(
      AdmissionPhase::mutating,
      [&store](const auto& request) { return allocate_service(store, request); }, &Service::info());
}

}  // namespace ddptwin
