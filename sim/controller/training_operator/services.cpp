// The headless service of each replica (spec/pytorchjob.md §3.2, §4.4).
#include <map>

#include "controller/training_operator/pass.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

const Text service_created = "SuccessfulCreateService";
constexpr RefusalText service_not_created{"FailedCreateService", "Error creating: "};

// Every port of the container `pytorch` once a name. Upstream draws their order anew at each try;
// here it is the names'.
std::vector<ServicePort> ports_of(const ReplicaSpec& spec) {
  std::map<std::string, std::int32_t> ports;
  for (const Container& container : spec.template_.spec->containers)
    if (container.name == container_name)
      for (const ContainerPort& port : container.ports) ports[port.name] = port.containerPort;
  std::vector<ServicePort> out;
  for (const auto& [name, port] : ports) out.push_back(ServicePort{.name = name, .port = port});
  return out;
}

void create_service(Pass& pass, const ReplicaNames& names, const ReplicaSpec& spec, int index) {
  auto service = std::make_shared<Service>();
  // The Service carries what it asks for.
  const auto& [name, labels] = pass.replica(names, index);
  service->metadata.name = name;
  service->metadata.namespace_ = pass.job.metadata.namespace_;
  service->metadata.labels = labels;
  service->metadata.ownerReferences = pass.owners();
  ServiceSpec& to = service->spec.edit();
  to.clusterIP = "None";
  to.selector = labels;
  to.ports = ports_of(spec);
  Step& step = pass.add(rules::create_missing_service);
  step.event = EventText{normal, service_created, name, "Created service: "};
  step.request = api::create(std::move(service));
  step.expected.push_back({.key = names.services_key, .adds = 1});
  step.refused = &service_not_created;
  step.tolerated = Reason::timeout;
}

}  // namespace

void reconcile_services(Pass& pass, const ReplicaNames& names,
                        const AllLabelled<Service>& services) {
  const ReplicaSpec& spec = pass.seen.facts->spec_of(names);
  const int replicas = spec.replicas.value_or(1);
  const auto slices = by_index(services, names.label, replicas);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const int index = static_cast<int>(i);
    if (slices[i].size == 0) {
      create_service(pass, names, spec, index);
    } else if (slices[i].size == 1 && index >= replicas) {
      pass.add_deletion(rules::scale_down_service, Service::info(), slices[i].one->metadata.name)
          .expected.push_back(
              {.when = Expected::When::after_call, .key = names.services_key, .dels = 1});
    }
  }
}

}  // namespace ddptwin::controller::pytorchjob
