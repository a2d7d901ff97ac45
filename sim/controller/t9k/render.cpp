#include "controller/t9k/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "controller/t9k/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/codec.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller::t9k {

namespace {

using Replicas = PyTorchTrainingJobReplicas;

const Replicas& group_of(const PyTorchTrainingJob& job, Place place) {
  return job.spec->replicaSpecs[place.group];
}

// In the order of rules::variables.
std::array<std::string, 4> values_of(const PyTorchTrainingJob& job, Place place) {
  const std::vector<int> sizes = targets(*job.spec);
  int rank = place.index;
  for (std::size_t i = 0; i < place.group; ++i) rank += sizes[i];
  return {replica_name(job, job.spec->replicaSpecs.front().type_, 0), std::to_string(master_port),
          std::to_string(sum_of(sizes)), std::to_string(rank)};
}

// They come first, so that what the user says may refer to them; his own of these names go.
// PROPOSED (G9).
void inject(const std::array<std::string, 4>& values, Container& container) {
  std::vector<EnvVar> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    EnvVar& variable = all.emplace_back();
    variable.name = rules::variables[i].name;
    variable.value = values[i];
  }
  for (const EnvVar& own : container.env)
    if (std::none_of(rules::variables.begin(), rules::variables.end(),
                     [&own](const VariableRow& row) { return own.name == row.name; }))
      all.push_back(own);
  container.env = std::move(all);
}

// The entry of that type; null: there is none.
template <class Entry>
const Entry* entry_of(const std::vector<Entry>& entries, std::string_view type) {
  for (const Entry& one : entries)
    if (one.type_ == type) return &one;
  return nullptr;
}

// What the active mode says of a group (§4, step 6). PROPOSED: debug before resume before torchrun.
struct Entry {
  std::optional<std::vector<std::string>> command{}, args{};
  bool skips_init = false;
};

Entry entry_point(const PyTorchTrainingJobSpec& spec, const Replicas& group,
                  const Container& training, bool resumed) {
  Entry entry;
  if (is_debugged(spec)) {
    const DebugReplicas* of = entry_of(spec.runMode->debug->replicaSpecs, group.type_);
    entry.command = of != nullptr && of->command ? *of->command : debug_command;
    entry.args.emplace();
    entry.skips_init = of != nullptr && of->skipInitContainer;
    return entry;
  }
  const ResumeReplicas* of = nullptr;
  if (resumed && spec.runMode && spec.runMode->pause && spec.runMode->pause->resumeSpecs)
    of = entry_of(*spec.runMode->pause->resumeSpecs, group.type_);
  if (of != nullptr) {
    entry.command = of->command;
    entry.args = of->args;
    entry.skips_init = of->skipInitContainer;
  }
  if (!entry.command && is_torchrun(spec)) {
    const std::vector<std::string>& own = entry.args ? *entry.args : *training.args;
    entry.args = torchrun_arguments(spec, group, own);
    entry.command = std::vector<std::string>{"torchrun"};
  }
  return entry;
}

StringMap own_labels(const PyTorchTrainingJob& job) {
  return {{label::owner_name, job.metadata.name},
          {label::owner_kind, job.kind().kind},
          {label::component, job.kind().singular},
          {label::component_type, "user"}};
}

StringMap replica_labels(const PyTorchTrainingJob& job, Place place) {
  return {{label::owner_name, job.metadata.name},
          {label::replica_type, group_of(job, place).type_},
          {label::replica_index, std::to_string(place.index)}};
}

void add_labels(const PyTorchTrainingJob& job, Place place, StringMap& labels) {
  const auto put = [&labels](std::string_view key, std::string_view value) {
    labels.insert_or_assign(Text(key), Text(value));
  };
  for (const auto& [key, value] : own_labels(job)) put(key, value);
  for (const auto& [key, value] : replica_labels(job, place)) put(key, value);
  if (place.is_master()) put(label::job_role, "master");
  if (const T9kSchedulerChoice* choice = t9k_scheduler(*job.spec)) {
    put(label::group_name, job.metadata.name);
    put(label::queue, choice->queue.empty() ? training_queue : std::string_view(choice->queue));
    put(label::role, group_of(job, place).type_);
  }
}

void own(const PyTorchTrainingJob& job, ObjectMeta& metadata, std::string name) {
  metadata.name = name;
  metadata.namespace_ = job.metadata.namespace_;
  metadata.ownerReferences = std::vector{controller_reference(job)};
}

}  // namespace

std::vector<std::string> torchrun_arguments(const PyTorchTrainingJobSpec& spec,
                                            const Replicas& group,
                                            const std::vector<std::string>& training) {
  const TorchrunConfig& config = *spec.torchrunConfig;
  const std::string nodes = is_elastic(spec) ? fmt::format("{}:{}", *spec.elastic->minReplicas,
                                                           *spec.elastic->maxReplicas)
                                             : std::to_string(sum_of(targets(spec)));
  std::vector<std::string> all{
      "--nnodes",
      nodes,
      "--nproc_per_node",
      config.procPerNode.empty() ? std::string(training_processes) : config.procPerNode,
      "--rdzv_backend",
      config.rdzvBackend.empty() ? "c10d" : config.rdzvBackend,
      "--rdzv_endpoint",
      "$(MASTER_ADDR):$(MASTER_PORT)"};
  if (config.maxRestarts)
    all.insert(all.end(), {"--max_restarts", std::to_string(*config.maxRestarts)});
  all.insert(all.end(), {"--role", group.type_});
  all.insert(all.end(), config.extraOptions.begin(), config.extraOptions.end());
  all.insert(all.end(), training.begin(), training.end());
  return all;
}

std::shared_ptr<Pod> pod_of(const PyTorchTrainingJob& job, Place place, bool resumed) {
  const Replicas& group = group_of(job, place);
  auto pod = std::make_shared<Pod>();
  pod->metadata.labels = group.template_.metadata.labels;
  pod->metadata.annotations = group.template_.metadata.annotations;
  own(job, pod->metadata, replica_name(job, group.type_, place.index));
  add_labels(job, place, pod->metadata.labels.edit());
  pod->spec = group.template_.spec;
  PodSpec& spec = pod->spec.edit();
  spec.restartPolicy = "Never";  // §4
  if (t9k_scheduler(*job.spec) != nullptr) spec.rest.edit().schedulerName = scheduler_name;
  const auto trains = training_container(spec);
  if (!trains) return pod;  // nothing that the API server would take
  std::vector<Container>& containers = spec.containers.edit();
  const auto values = values_of(job, place);
  for (Container& container : containers) inject(values, container);
  Container& training = containers[*trains];
  Entry entry = entry_point(*job.spec, group, training, resumed);
  if (entry.command) training.command = std::move(*entry.command);
  if (entry.args) training.args = std::move(*entry.args);
  if (entry.skips_init) spec.initContainers = std::vector<Container>();
  return pod;
}

std::shared_ptr<Service> service_of(const PyTorchTrainingJob& job, Place place) {
  auto service = std::make_shared<Service>();
  own(job, service->metadata, replica_name(job, group_of(job, place).type_, place.index));
  StringMap labels = own_labels(job);
  for (const auto& [key, value] : replica_labels(job, place)) labels.insert_or_assign(key, value);
  service->metadata.labels = std::move(labels);
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = "None";
  spec.selector = replica_labels(job, place);
  spec.publishNotReadyAddresses = true;
  spec.ports = {ServicePort{.name = std::string(master_port_name), .port = master_port}};
  return service;
}

const T9kSchedulerChoice* t9k_scheduler(const PyTorchTrainingJobSpec& spec) {
  return spec.scheduler && spec.scheduler->t9kScheduler ? &*spec.scheduler->t9kScheduler : nullptr;
}

std::shared_ptr<T9kPodGroup> pod_group_of(const PyTorchTrainingJob& job) {
  const T9kSchedulerChoice& choice = *t9k_scheduler(*job.spec);
  auto group = std::make_shared<T9kPodGroup>();
  own(job, group->metadata, job.metadata.name.str());
  group->spec.minMember = gang_size(*job.spec);
  group->spec.queue = choice.queue.empty() ? std::string(training_queue) : choice.queue;
  group->spec.priority = choice.priority.value_or(training_priority);
  return group;
}

std::shared_ptr<TensorBoard> tensorboard_of(const PyTorchTrainingJob& job) {
  auto board = std::make_shared<TensorBoard>();
  if (const Json* spec = job.spec->tensorboardSpec.get(); spec != nullptr && spec->is_object()) {
    boost::json::object rest = spec->get_object();
    if (const auto* suspend = rest.if_contains("suspend"); suspend != nullptr && suspend->is_bool())
      board->spec.suspend = suspend->get_bool();
    rest.erase("suspend");
    board->spec.extra = RawJson(std::move(rest));
  }
  own(job, board->metadata, base_name(job));
  return board;
}

}  // namespace ddptwin::controller::t9k
