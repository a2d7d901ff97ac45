#include "controller/aistudio/render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/aistudio/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller::aistudio {
namespace {

StringMap rank_labels(const DDPTask& task, int rank) {
  return {{label::task, task.metadata.name}, {label::rank, std::to_string(rank)}};
}

void own(const DDPTask& task, ObjectMeta& metadata, std::string name) {
  metadata.name = name;
  metadata.namespace_ = task.metadata.namespace_;
  metadata.ownerReferences = std::vector{controller_reference(task)};
}

EnvVar variable(std::string_view name, std::string value) {
  EnvVar made;
  made.name = name;
  made.value = std::move(value);
  return made;
}

// The four, and then the user's own, which may refer to them.
std::vector<EnvVar> variables_of(const DDPTask& task, int rank) {
  const DDPTaskSpec& spec = *task.spec;
  std::string port = std::to_string(master_port);
  for (const DDPTaskVariable& own : spec.env)
    if (own.name == port_variable) port = own.value;
  std::vector<EnvVar> all{variable("MASTER_ADDR", worker_name(task, 0)),
                          variable(port_variable, port),
                          variable("WORLD_SIZE", std::to_string(workers_of(spec))),
                          variable("RANK", std::to_string(rank))};
  for (const DDPTaskVariable& own : spec.env)
    if (own.name != port_variable) all.push_back(variable(own.name, own.value));
  return all;
}

ResourceRequirements resources_of(const DDPTaskWorker& worker) {
  ResourceList list;
  if (worker.cpu) list.insert_or_assign("cpu", *worker.cpu);
  if (worker.memory) list.insert_or_assign("memory", *worker.memory);
  if (worker.gpus.value_or(0) > 0)
    list.insert_or_assign(std::string(gpu_resource), Quantity::of(*worker.gpus));
  ResourceRequirements made;
  made.limits = list;
  made.requests = list;
  return made;
}

// What it checks, in the words of `atlctl check`: also without items, for it is where all wait
// for each other, so that the entry command starts everywhere or nowhere.
std::vector<std::string> check_arguments(const DDPTask& task, int rank) {
  const DDPTaskSpec& spec = *task.spec;
  std::vector<std::string> peers, mounts;
  for (int i = 0; i < workers_of(spec); ++i) peers.push_back(worker_name(task, i));
  for (const DDPTaskMount& mount : spec.mounts) mounts.push_back(mount.path);
  return {"check",
          "--rank",
          std::to_string(rank),
          "--peers",
          fmt::format("{}", fmt::join(peers, ",")),
          "--items",
          fmt::format("{}", fmt::join(check_items(spec), ",")),
          "--block",
          fmt::format("{}", fmt::join(blocking_items(spec), ",")),
          "--gpus",
          std::to_string(spec.workerSpec.gpus.value_or(0)),
          "--mounts",
          fmt::format("{}", fmt::join(mounts, ",")),
          "--task",
          task_stem(task),
          "--timeout",
          std::to_string(check_timeout(spec))};
}

// With atlctl's agent as the first process: it tells by a port whether the entry command runs.
void make_debuggable(Container& worker) {
  std::vector<std::string> command{std::string(atlctl_path),
                                   "agent",
                                   "--ready-port",
                                   std::to_string(running_port),
                                   "--grace",
                                   std::to_string(grace_seconds),
                                   "--stop-text",
                                   std::string(stop_text),
                                   "--"};
  command.insert(command.end(), worker.command->begin(), worker.command->end());
  worker.command = std::move(command);
  Probe& probe = worker.readinessProbe.edit();
  probe.tcpSocket.emplace().port = {.number = running_port};
  probe.periodSeconds = running_period_seconds;
  probe.failureThreshold = 1;
}

Affinity away_from(const std::vector<std::string>& nodes) {
  LabelSelectorRequirement elsewhere;
  elsewhere.key = "kubernetes.io/hostname";
  elsewhere.operator_ = "NotIn";
  elsewhere.values = nodes;
  Affinity made;
  made.nodeAffinity.emplace().requiredDuringSchedulingIgnoredDuringExecution.emplace() = {
      {NodeSelectorTerm{{elsewhere}, {}}}};
  return made;
}

}  // namespace

std::shared_ptr<Pod> pod_of(const DDPTask& task, const DDPTaskStatus& status, int rank) {
  const DDPTaskSpec& of = *task.spec;
  auto pod = std::make_shared<Pod>();
  own(task, pod->metadata, worker_name(task, rank));
  StringMap labels = rank_labels(task, rank);
  labels.insert_or_assign(label::attempt, std::to_string(status.attempt));
  pod->metadata.labels = std::move(labels);
  PodSpec& spec = pod->spec.edit();
  spec.restartPolicy = "Never";  // an exit code is final
  spec.terminationGracePeriodSeconds = grace_seconds;
  if (!status.excludedNodes.empty()) spec.affinity.edit() = away_from(status.excludedNodes);

  Container worker;
  worker.name = worker_container;
  worker.image = of.image;
  worker.command = std::vector<std::string>{"bash", "-c", of.entrypoint};  // §7.2: bash, not sh
  worker.env = variables_of(task, rank);
  worker.resources = resources_of(of.workerSpec);
  std::vector<Volume> volumes;
  std::vector<VolumeMount> mounts;
  for (const DDPTaskMount& mount : of.mounts) {
    Volume& volume = volumes.emplace_back();
    volume.name = mount.name;
    HostPathVolume& folder = volume.hostPath.edit();
    folder.path = std::string(storage_folder) + mount.name;
    folder.type_ = "DirectoryOrCreate";
    VolumeMount& mounted = mounts.emplace_back();
    mounted.name = mount.name;
    mounted.mountPath = mount.path;
    mounted.readOnly = mount.readOnly;
  }
  spec.volumes = std::move(volumes);
  worker.volumeMounts = std::move(mounts);

  Container check = worker;
  check.name = check_container;
  check.command = std::vector<std::string>{std::string(atlctl_path)};
  check.args = check_arguments(task, rank);
  if (of.debug) make_debuggable(worker);
  spec.initContainers = std::vector{std::move(check)};
  spec.containers = std::vector{std::move(worker)};
  return pod;
}

std::shared_ptr<Service> service_of(const DDPTask& task, int rank) {
  auto service = std::make_shared<Service>();
  own(task, service->metadata, worker_name(task, rank));
  service->metadata.labels = rank_labels(task, rank);
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = "None";
  spec.selector = rank_labels(task, rank);
  spec.publishNotReadyAddresses = true;  // the check asks for names before anybody is ready
  spec.ports = {ServicePort{.name = "master", .port = master_port}};
  return service;
}

}  // namespace ddptwin::controller::aistudio
