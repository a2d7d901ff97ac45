#include "objects/strategy_core_v1.hpp"

#include <array>

#include "objects/core_v1.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

constexpr std::string_view name_label = "kubernetes.io/metadata.name";

void create_namespace(Object& object) {
  auto& space = static_cast<Namespace&>(object);
  space.spec.finalizers = {"kubernetes"};
  space.status = NamespaceStatus{};
  space.status.phase = "Active";
  const std::string* label = space.metadata.label(name_label);
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
}

// Unbound and finished pods have nobody to wait for (spec/kubernetes.md section 1.8).
std::optional<std::int64_t> pod_grace(const Object& object, std::optional<std::int64_t> asked) {
  const auto& pod = static_cast<const Pod&>(object);
  if (pod.spec->nodeName.empty() || pod.status.phase == "Succeeded" || pod.status.phase == "Failed")
    return 0;
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
    PodField{"spec.schedulerName", [](const Pod& pod) { return pod.spec->schedulerName; }},
    PodField{"spec.serviceAccountName",
             [](const Pod& pod) { return pod.spec->serviceAccountName; }},
    PodField{"spec.hostNetwork",
             [](const Pod& pod) { return std::string(pod.spec->hostNetwork ? "true" : "false"); }},
    PodField{"status.phase", [](const Pod& pod) { return pod.status.phase; }},
    PodField{"status.podIP", [](const Pod& pod) { return pod.status.podIP; }},
    PodField{"status.podIPs", [](const Pod& pod) { return pod.status.podIP; }},
    PodField{"status.nominatedNodeName",
             [](const Pod& pod) { return pod.status.nominatedNodeName; }},
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

Strategy pod_strategy() {
  Strategy s;
  s.prepare_create = &create_pod;
  s.grace_period = &pod_grace;
  s.field = &pod_field;
  s.fields = pod_field_names;
  return s;
}

}  // namespace ddptwin
