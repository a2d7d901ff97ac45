// The headless service of each replica (spec/pytorchjob.md §3.2, §4.4).
#include <map>

#include "controller/pytorchjob/pass.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

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

void create_service(Pass& pass, const std::string& type, const ReplicaSpec& spec, int index) {
  auto service = std::make_shared<Service>();
  // Both at once: the Service carries what it asks for.
  Cow<StringMap> labels;
  add_replica_labels(pass, labels.edit(), type, index);
  service->metadata.name = replica_name(pass.name(), type, index);
  service->metadata.namespace_ = pass.job.metadata.namespace_;
  service->metadata.labels = labels;
  service->metadata.ownerReferences = pass.owners();
  ServiceSpec& to = service->spec.edit();
  to.clusterIP = "None";
  to.selector = labels;
  to.ports = ports_of(spec);
  pass.add(Step{.rule = &rules::create_missing_service,
                .request = api::create(service),
                .expected = {{.when = Expected::When::before_call,
                              .key = expectation_key(pass.key(), type, "services"),
                              .adds = 1}},
                .event = EventText{normal, "SuccessfulCreateService",
                                   "Created service: " + service->metadata.name},
                .refused = RefusalText{"FailedCreateService", "Error creating: "},
                .tolerated = Reason::timeout});
}

}  // namespace

void reconcile_services(Pass& pass, const std::string& type) {
  const ReplicaSpec& spec = *replica_spec(pass.job, type);
  const int replicas = spec.replicas.value_or(1);
  const auto slices = by_index(pass.seen.services, type, replicas);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const int index = static_cast<int>(i);
    if (slices[i].size == 0) {
      create_service(pass, type, spec, index);
    } else if (slices[i].size == 1 && index >= replicas) {
      Step step = delete_step(rules::scale_down_service, Service::info(), pass.job,
                              slices[i].one->metadata.name);
      step.expected = {{.when = Expected::When::after_call,
                        .key = expectation_key(pass.key(), type, "services"),
                        .dels = 1}};
      pass.add(std::move(step));
    }
  }
}

}  // namespace ddptwin::controller::pytorchjob
