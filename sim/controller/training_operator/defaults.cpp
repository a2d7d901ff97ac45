#include "controller/training_operator/defaults.hpp"

#include "controller/training_operator/names.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

// The first key that differs in its letters' case alone becomes the exact one.
void rename_key(ReplicaSpecs& specs, std::string_view exact) {
  for (auto at = specs.begin(); at != specs.end(); ++at) {
    if (at->first == exact || lower(at->first) != lower(exact)) continue;
    ReplicaSpec spec = std::move(at->second);
    specs.erase(at);
    specs.insert_or_assign(std::string(exact), std::move(spec));
    return;
  }
}

std::vector<Container>::const_iterator main_container(const std::vector<Container>& containers) {
  for (auto at = containers.begin(); at != containers.end(); ++at)
    if (at->name == container_name) return at;
  return containers.begin();
}

bool has_job_port(const Container& container) {
  for (const ContainerPort& port : container.ports)
    if (port.name == port_name) return true;
  return false;
}

Status default_replica(ReplicaSpec& spec) {
  if (!spec.replicas) spec.replicas = 1;
  if (spec.restartPolicy.empty()) spec.restartPolicy = "OnFailure";
  const auto& containers = spec.template_.spec->containers;
  if (containers.empty())
    return fail(Reason::internal_error, "runtime error: index out of range [0] with length 0");
  const auto at = main_container(containers);
  if (has_job_port(*at)) return {};
  const auto index = at - containers.begin();
  std::vector<Container>& changed = spec.template_.spec.edit().containers.edit();
  changed[static_cast<std::size_t>(index)].ports.edit().push_back(
      ContainerPort{.name = std::string(port_name), .containerPort = default_port});
  return {};
}

Status default_elastic(PyTorchJobSpec& spec) {
  ElasticPolicy& elastic = *spec.elasticPolicy;
  if (!elastic.minReplicas) elastic.minReplicas = elastic.maxReplicas;
  if (!elastic.maxReplicas) elastic.maxReplicas = elastic.minReplicas;
  if (elastic.minReplicas) return {};
  const ReplicaSpecs& specs = *spec.pytorchReplicaSpecs;
  const auto worker = specs.find(worker_type);
  if (worker == specs.end())
    return fail(Reason::internal_error,
                "runtime error: invalid memory address or nil pointer dereference");
  elastic.minReplicas = elastic.maxReplicas = worker->second.replicas;
  return {};
}

}  // namespace

Result<PyTorchJobSpec> defaulted(PyTorchJobSpec spec) {
  if (!spec.runPolicy.cleanPodPolicy) spec.runPolicy.cleanPodPolicy = "None";
  if (!spec.pytorchReplicaSpecs) spec.pytorchReplicaSpecs.emplace();
  rename_key(*spec.pytorchReplicaSpecs, master_type);
  rename_key(*spec.pytorchReplicaSpecs, worker_type);
  for (auto& [type, replica] : *spec.pytorchReplicaSpecs) TRY_VOID(default_replica(replica));
  if (spec.elasticPolicy) TRY_VOID(default_elastic(spec));
  if (!spec.nprocPerNode && !(spec.elasticPolicy && spec.elasticPolicy->nProcPerNode))
    spec.nprocPerNode = "auto";
  return spec;
}

}  // namespace ddptwin::controller::pytorchjob
