#include "objects/strategy_core_v1.hpp"

#include <array>
#include <boost/json.hpp>

#include "objects/core_v1.hpp"
#include "objects/defaults.hpp"
#include "objects/pod_phase.hpp"
#include "objects/validation.hpp"
#include "objects/validation_core_v1.hpp"

namespace ddptwin {
namespace {

constexpr std::string_view name_label = "kubernetes.io/metadata.name";

void create_namespace(Object& object) {
  auto& space = static_cast<Namespace&>(object);
  space.spec.finalizers = {"kubernetes"};
  space.status = NamespaceStatus{};
  space.status.phase = "Active";
  const Text* label = space.metadata.label(name_label);
  if (label == nullptr || *label != space.metadata.name)
    space.metadata.labels.edit()[std::string(name_label)] = space.metadata.name;
}

// The spec holds the finalizers, which only /finalize changes.
void update_namespace(Object& updated, const Object& old) {
  static_cast<Namespace&>(updated).spec = static_cast<const Namespace&>(old).spec;
}

std::optional<std::string> namespace_field(const Object& object, std::string_view) {
  return static_cast<const Namespace&>(object).status.phase;
}

void create_pod(Object& object) {
  auto& pod = static_cast<Pod&>(object);
  pod.status = PodStatus{};
  pod.status.phase = "Pending";
  pod.status.rest.edit().qosClass = qos_class(*pod.spec);
  if (pod.spec->schedulingGates.empty()) return;
  PodCondition gated;
  gated.type_ = "PodScheduled";
  gated.status = "False";
  gated.lastTransitionTime = pod.metadata.creationTimestamp;
  gated.reason = "SchedulingGated";
  gated.message = "Scheduling is blocked due to non-empty scheduling gates";
  pod.status.conditions.edit().push_back(std::move(gated));
}

template <class T, void (*fill)(T&)>
void defaults_of(Object& object) {
  fill(static_cast<T&>(object));
}

void create_service(Object& object) {
  auto& service = static_cast<Service&>(object);
  service.status = ServiceStatus{};
  static const RawJson none{boost::json::object()};
  service.status.loadBalancer = none;
}

// What the allocators gave stays when the client does not name it.
void update_service(Object& updated, const Object& old) {
  auto& service = static_cast<Service&>(updated);
  const ServiceSpec& before = *static_cast<const Service&>(old).spec;
  if (service.spec.same_as(static_cast<const Service&>(old).spec)) return;
  ServiceSpec& spec = service.spec.edit();
  if (spec.type_ == "ExternalName" || before.type_ == "ExternalName") return;
  if (spec.clusterIP.empty()) {
    spec.clusterIP = before.clusterIP;
    spec.clusterIPs = before.clusterIPs;
  }
  for (ServicePort& port : spec.ports)
    for (const ServicePort& was : before.ports)
      if (port.nodePort == 0 && spec.type_ == before.type_ && was.port == port.port &&
          was.protocol == port.protocol)
        port.nodePort = was.nodePort;
}

std::optional<std::string> service_field(const Object& object, std::string_view path) {
  const ServiceSpec& spec = *static_cast<const Service&>(object).spec;
  return path == "spec.type" ? spec.type_ : spec.clusterIP;
}

std::optional<std::string> node_field(const Object& object, std::string_view) {
  return std::string(static_cast<const Node&>(object).spec.unschedulable ? "true" : "false");
}

std::optional<std::string> secret_field(const Object& object, std::string_view) {
  return static_cast<const Secret&>(object).type_;
}

struct EventField {
  std::string_view path;
  std::string_view (*read)(const Event&);
};

constexpr std::array event_fields{
    EventField{"involvedObject.kind",
               [](const Event& e) -> std::string_view { return e.involvedObject->kind; }},
    EventField{"involvedObject.namespace",
               [](const Event& e) -> std::string_view { return e.involvedObject->namespace_; }},
    EventField{"involvedObject.name",
               [](const Event& e) -> std::string_view { return e.involvedObject->name; }},
    EventField{"involvedObject.uid",
               [](const Event& e) -> std::string_view { return e.involvedObject->uid.view(); }},
    EventField{"involvedObject.apiVersion",
               [](const Event& e) -> std::string_view { return e.involvedObject->apiVersion; }},
    EventField{
        "involvedObject.resourceVersion",
        [](const Event& e) -> std::string_view { return e.involvedObject->resourceVersion; }},
    EventField{"involvedObject.fieldPath",
               [](const Event& e) -> std::string_view { return e.involvedObject->fieldPath; }},
    EventField{"reason", [](const Event& e) -> std::string_view { return e.reason; }},
    EventField{"reportingComponent",
               [](const Event& e) -> std::string_view { return e.rest->reportingComponent; }},
    EventField{"source",
               [](const Event& e) -> std::string_view {
                 const Text& source = e.rest->source.component;
                 return source.empty() ? e.rest->reportingComponent : source;
               }},
    EventField{"type", [](const Event& e) -> std::string_view { return e.type_; }},
};

constexpr auto event_field_names = [] {
  std::array<std::string_view, event_fields.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = event_fields[i].path;
  return names;
}();

std::optional<std::string> event_field(const Object& object, std::string_view path) {
  for (const EventField& field : event_fields)
    if (field.path == path) return std::string(field.read(static_cast<const Event&>(object)));
  return std::nullopt;
}

// Unbound and finished pods have nobody to wait for (spec/kubernetes.md section 1.8).
std::optional<std::int64_t> pod_grace(const Object& object, std::optional<std::int64_t> asked) {
  const auto& pod = static_cast<const Pod&>(object);
  if (pod.spec->nodeName.empty() || is_terminal_phase(pod.status.phase)) return 0;
  const std::int64_t period = asked ? *asked : pod.spec->terminationGracePeriodSeconds.value_or(0);
  return period < 0 ? 1 : period;
}

struct PodField {
  std::string_view path;
  std::string (*read)(const Pod&);
};

constexpr std::array pod_fields{
    PodField{"spec.nodeName", [](const Pod& pod) { return pod.spec->nodeName; }},
    PodField{"spec.restartPolicy", [](const Pod& pod) { return pod.spec->restartPolicy; }},
    PodField{"spec.schedulerName", [](const Pod& pod) { return pod.spec->rest->schedulerName; }},
    PodField{"spec.serviceAccountName",
             [](const Pod& pod) { return pod.spec->rest->serviceAccountName; }},
    PodField{"spec.hostNetwork",
             [](const Pod& pod) { return std::string(pod.spec->hostNetwork ? "true" : "false"); }},
    PodField{"status.phase", [](const Pod& pod) { return pod.status.phase.str(); }},
    PodField{"status.podIP", [](const Pod& pod) { return pod.status.rest->podIP.str(); }},
    PodField{"status.podIPs", [](const Pod& pod) { return pod.status.rest->podIP.str(); }},
    PodField{"status.nominatedNodeName",
             [](const Pod& pod) { return pod.status.rest->nominatedNodeName.str(); }},
};

constexpr auto pod_field_names = [] {
  std::array<std::string_view, pod_fields.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = pod_fields[i].path;
  return names;
}();

std::optional<std::string> pod_field(const Object& object, std::string_view path) {
  for (const PodField& field : pod_fields)
    if (field.path == path) return field.read(static_cast<const Pod&>(object));
  return std::nullopt;
}

}  // namespace

Strategy namespace_strategy() {
  static constexpr std::array<std::string_view, 1> fields{"status.phase"};
  Strategy s;
  s.name_rule = &dns_label_problems;
  s.prepare_create = &create_namespace;
  s.prepare_update = &update_namespace;
  s.field = &namespace_field;
  s.fields = fields;
  return s;
}

Strategy node_strategy() {
  static constexpr std::array<std::string_view, 1> fields{"spec.unschedulable"};
  Strategy s;
  s.defaults = &defaults_of<Node, &default_node>;
  s.status_defaults = s.defaults;
  s.field = &node_field;
  s.fields = fields;
  return s;
}

Strategy pod_strategy() {
  Strategy s;
  s.defaults = &defaults_of<Pod, &default_pod>;
  s.prepare_create = &create_pod;
  s.validate = &validate_pod;
  s.validate_update = &validate_pod_update;
  s.prepare_status_update = &set_primary_address;
  s.validate_status_update = &validate_pod_status_update;
  s.warnings = &pod_warnings;
  s.grace_period = &pod_grace;
  s.field = &pod_field;
  s.fields = pod_field_names;
  return s;
}

Strategy service_strategy() {
  static constexpr std::array<std::string_view, 2> fields{"spec.clusterIP", "spec.type"};
  Strategy s;
  s.name_rule = &dns_label_problems;
  s.defaults = &defaults_of<Service, &default_service>;
  s.prepare_create = &create_service;
  s.prepare_update = &update_service;
  s.validate = &validate_service;
  s.validate_update = &validate_service_update;
  s.field = &service_field;
  s.fields = fields;
  return s;
}

Strategy endpoints_strategy() {
  Strategy s;
  s.defaults = &defaults_of<Endpoints, &default_endpoints>;
  return s;
}

Strategy config_map_strategy() {
  Strategy s;
  s.validate = &validate_config_map;
  s.validate_update = &validate_config_map_update;
  return s;
}

Strategy secret_strategy() {
  static constexpr std::array<std::string_view, 1> fields{"type"};
  Strategy s;
  s.defaults = &defaults_of<Secret, &default_secret>;
  s.validate = &validate_secret;
  s.validate_update = &validate_secret_update;
  s.field = &secret_field;
  s.fields = fields;
  return s;
}

Strategy event_strategy() {
  Strategy s;
  s.field = &event_field;
  s.fields = event_field_names;
  s.time_to_live = 1h;  // kube-apiserver's --event-ttl
  return s;
}

}  // namespace ddptwin
