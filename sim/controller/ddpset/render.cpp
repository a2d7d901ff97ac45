#include "controller/ddpset/render.hpp"

#include <algorithm>

#include "controller/ddpset/rules.hpp"
#include "controller/toolkit/ownership.hpp"

namespace ddptwin::controller::ddpset {

namespace {

EnvVar literal(std::string_view name, std::string_view value) {
  EnvVar variable;
  variable.name = name;
  variable.value = value;
  return variable;
}

EnvVar field(std::string_view name, std::string_view path) {
  EnvVar variable;
  variable.name = name;
  ObjectFieldSelector& of = variable.valueFrom.emplace().fieldRef.emplace();
  of.apiVersion = "v1";
  of.fieldPath = path;
  return variable;
}

// In the order of rules::variables.
std::array<EnvVar, 5> variables_of(const DDPSet& set) {
  return {field(rules::variables[0].name, "metadata.name"),
          literal(rules::variables[1].name, service_name_of(set)),
          literal(rules::variables[2].name, std::to_string(replicas_of(*set.spec))),
          literal(rules::variables[3].name, std::to_string(port_of(*set.spec))),
          field(rules::variables[4].name, "metadata.namespace")};
}

// What the user says of one of these names himself stays as he says it. They come first, so that
// the user's own variables may refer to them.
void inject(const std::array<EnvVar, 5>& variables, std::vector<Container>& into) {
  for (Container& container : into) {
    std::vector<EnvVar>& env = container.env;
    std::vector<EnvVar> all;
    for (const EnvVar& variable : variables) {
      const bool is_users = std::any_of(env.begin(), env.end(), [&variable](const EnvVar& own) {
        return own.name == variable.name;
      });
      if (!is_users) all.push_back(variable);
    }
    all.insert(all.end(), env.begin(), env.end());
    env = std::move(all);
  }
}

StringMap labels_of(const DDPSet& set) { return {{"app", set.metadata.name}}; }

void own(const DDPSet& set, ObjectMeta& metadata) {
  metadata.namespace_ = set.metadata.namespace_;
  metadata.labels = labels_of(set);
  metadata.annotations.edit()[Text(generation_annotation)] =
      std::to_string(set.metadata.generation);
  metadata.ownerReferences = std::vector{controller_reference(set)};
}

}  // namespace

std::shared_ptr<Service> service_of(const DDPSet& set) {
  auto service = std::make_shared<Service>();
  service->metadata.name = service_name_of(set);
  own(set, service->metadata);
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = "None";
  spec.selector = labels_of(set);
  spec.publishNotReadyAddresses = set.spec->publishNotReadyAddresses;
  spec.ports = {ServicePort{.name = "ddp", .port = port_of(*set.spec)}};
  return service;
}

std::shared_ptr<StatefulSet> statefulset_of(const DDPSet& set) {
  auto made = std::make_shared<StatefulSet>();
  made->metadata.name = set.metadata.name;
  own(set, made->metadata);
  StatefulSetSpec& spec = made->spec.edit();
  spec.replicas = replicas_of(*set.spec);
  spec.selector.emplace().matchLabels = labels_of(set);
  spec.serviceName = service_name_of(set);
  spec.podManagementPolicy = set.spec->podManagementPolicy;
  if (const int start = ordinals_start_of(*set.spec); start != 0)
    spec.ordinals = StatefulSetOrdinals{start};
  spec.template_ = set.spec->template_;
  for (const auto& [key, value] : labels_of(set))
    spec.template_.metadata.labels.edit()[key] = value;
  PodSpec& pod = spec.template_.spec.edit();
  const std::array<EnvVar, 5> variables = variables_of(set);
  inject(variables, pod.initContainers.edit());
  inject(variables, pod.containers.edit());
  return made;
}

bool is_rendered(const Object& object, const DDPSet& set) {
  const StringMap& annotations = *object.metadata.annotations;
  const auto found = annotations.find(generation_annotation);
  return found != annotations.end() && found->second == std::to_string(set.metadata.generation);
}

}  // namespace ddptwin::controller::ddpset
