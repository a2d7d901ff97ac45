// A PyTorchJob as judges see it (spec/pytorchjob.md §1, §2.1, §4.3, §4.9). Nothing here is the
// controller's: what it works out is worked out anew.
#include <array>

#include "core/numbers.hpp"
#include "objects/pytorchjob.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/training_operator/parts.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::array<std::string_view, 2> group_names{"Master", "Worker"};

const ReplicaSpec* replicas_named(const PyTorchJobSpec& spec, std::string_view name) {
  if (!spec.pytorchReplicaSpecs) return nullptr;
  const auto found = spec.pytorchReplicaSpecs->find(name);
  return found == spec.pytorchReplicaSpecs->end() ? nullptr : &found->second;
}

// A type without a number has one replica.
int number_of(const ReplicaSpec& replicas) { return replicas.replicas.value_or(1); }

Workload::Group group_of(std::string_view name, const ReplicaSpec& replicas) {
  Workload::Group group;
  group.name = name;
  group.wanted = number_of(replicas);
  group.restart = replicas.restartPolicy;
  group.init_containers = replicas.template_.spec->initContainers.size();
  return group;
}

void read_groups(const PyTorchJobSpec& spec, Workload& to) {
  const ReplicaSpec *master = replicas_named(spec, "Master"),
                    *worker = replicas_named(spec, "Worker");
  if (master != nullptr) to.groups.push_back(group_of("Master", *master));
  if (master != nullptr) to.groups.back().decides = true;
  to.tells_rank = master != nullptr;
  to.tells_world = master != nullptr && !spec.elasticPolicy;  // else torchrun is told a range
  if (worker == nullptr) return;
  Workload::Group group = group_of("Worker", *worker);
  group.decides = master == nullptr;
  group.one_is_enough = spec.elasticPolicy.has_value();
  to.groups.push_back(group);
}

// Each replica counts nprocPerNode times where that is a number, else once.
std::int64_t world_of(const PyTorchJobSpec& spec) {
  std::uint64_t replicas = 0;
  if (spec.pytorchReplicaSpecs)
    for (const auto& [name, one] : *spec.pytorchReplicaSpecs)
      replicas += static_cast<std::uint64_t>(number_of(one));
  std::int64_t each = 1;
  if (spec.nprocPerNode) each = go_integer<std::int64_t>(*spec.nprocPerNode).value_or(1);
  if (each < 1) each = 1;
  return static_cast<std::int64_t>(replicas * static_cast<std::uint64_t>(each));
}

Workload read_pytorchjob(const Object& object) {
  const PyTorchJob& job = *as<PyTorchJob>(object);
  Workload told;
  read_groups(*job.spec, told);
  told.world = world_of(*job.spec);
  const RunPolicy& policy = job.spec->runPolicy;
  told.suspended = policy.suspend.value_or(false);
  told.of_others = policy.managedBy.value_or("kubeflow.org/training-operator") !=
                   "kubeflow.org/training-operator";
  told.deadline = policy.activeDeadlineSeconds;
  told.ttl = policy.ttlSecondsAfterFinished;
  told.backoff = policy.backoffLimit;
  if (!job.status) return told;
  const JobStatus& status = *job.status;
  told.started = status.startTime;
  told.completed = status.completionTime;
  told.told = !status.conditions.empty();
  told.succeeded = status.is_true("Succeeded");
  told.failed = status.is_true("Failed");
  told.says_suspended = status.is_true("Suspended");
  return told;
}

}  // namespace

constinit const WorkloadReader pytorchjob_reader{
    .system = operator_actor,
    .info = &PyTorchJob::info,
    .read = &read_pytorchjob,
    .actor = operator_actor,
    .pods_by = operator_actor,
    .controller = "pytorchjob-controller",
    .gives_up = "invalid_job",
    .groups = group_names,
    .group_label = "training.kubeflow.org/replica-type",
    .index_label = "training.kubeflow.org/replica-index",
    .main_container = "pytorch",
    .waiting_container = "init-pytorch",
    .first_retryable = 128,
    .success = "Succeeded",
    .failure = "Failed",
};

}  // namespace ddptwin::scenario
