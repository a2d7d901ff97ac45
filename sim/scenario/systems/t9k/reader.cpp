// A PyTorchTrainingJob as judges see it (spec/t9k.md §2, §5, §10). Nothing here is the
// controller's: what it works out is worked out anew.
#include <algorithm>
#include <array>

#include "scenario/systems/t9k/parts.hpp"

namespace ddptwin::scenario {
namespace {

bool is_scaled(const PyTorchTrainingJobSpec& spec) {
  return spec.elastic && spec.elastic->enabled && spec.torchrunConfig &&
         spec.torchrunConfig->enabled && spec.elastic->expectedReplicas;
}

// Of the expected replicas: whole parts by weight, then one each to those with most left over.
std::vector<int> shared_out(const PyTorchTrainingJobSpec& spec) {
  const std::int64_t all = *spec.elastic->expectedReplicas;
  std::int64_t weights = 0;
  for (const auto& group : spec.replicaSpecs) weights += group.scalingWeight.value_or(1);
  std::vector<int> sizes(spec.replicaSpecs.size(), 0);
  if (weights < 1) return sizes;
  std::int64_t given = 0;
  std::vector<std::int64_t> over;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t due = all * spec.replicaSpecs[i].scalingWeight.value_or(1);
    sizes[i] = static_cast<int>(due / weights);
    over.push_back(due % weights);
    given += sizes[i];
  }
  for (; given < all; ++given) {
    const auto most = std::max_element(over.begin(), over.end());
    ++sizes[static_cast<std::size_t>(most - over.begin())];
    *most = -1;
  }
  if (sizes.front() > 0 || all < 1) return sizes;
  --*std::max_element(sizes.begin(), sizes.end());
  ++sizes.front();
  return sizes;
}

// A replica whose pod was taken away after it had ended for good has none any more.
bool has_deleted(const PyTorchTrainingJob& job, std::string_view type) {
  const TrainingTask* task = job.status ? job.status->task(type) : nullptr;
  return task != nullptr &&
         std::any_of(task->replicas.begin(), task->replicas.end(),
                     [](const TaskReplica& one) { return one.phase == "Deleted"; });
}

void read_groups(const PyTorchTrainingJob& job, Workload& told) {
  const PyTorchTrainingJobSpec& spec = *job.spec;
  const std::vector<int> scaled = is_scaled(spec) ? shared_out(spec) : std::vector<int>();
  for (std::size_t i = 0; i < spec.replicaSpecs.size(); ++i) {
    const auto& replicas = spec.replicaSpecs[i];
    Workload::Group group;
    group.name = replicas.type_;
    group.wanted = scaled.empty() ? replicas.replicas.value_or(1) : scaled[i];
    group.restart = replicas.restartPolicy.empty() ? std::string_view("Never")
                                                   : std::string_view(replicas.restartPolicy);
    group.first_decides = i == 0;
    group.full_at_rest = !has_deleted(job, replicas.type_);
    group.init_containers = replicas.template_.spec->initContainers.size();
    told.world += group.wanted;
    told.groups.push_back(group);
  }
}

Workload read_training_job(const Object& object) {
  const PyTorchTrainingJob& job = *as<PyTorchTrainingJob>(object);
  const PyTorchTrainingJobSpec& spec = *job.spec;
  Workload told;
  read_groups(job, told);
  told.tells_rank = true;
  told.tells_world = !is_scaled(spec);  // pods that stand are not touched by a scale
  told.suspended = spec.runMode && spec.runMode->pause && spec.runMode->pause->enabled;
  told.deadline = spec.runPolicy.activeDeadlineSeconds;
  told.backoff = spec.runPolicy.backoffLimit.value_or(3);
  if (!job.status) return told;
  const PyTorchTrainingJobStatus& status = *job.status;
  told.told = !status.conditions.empty();
  told.started = status.startTime;
  told.succeeded = status.is_true("Completed");
  told.failed = status.is_true("Failed");
  told.says_suspended = status.is_true("Paused");
  return told;
}

}  // namespace

std::vector<ToldCondition> conditions_of_training_job(const Object& object) {
  std::vector<ToldCondition> found;
  const PyTorchTrainingJob& job = *as<PyTorchTrainingJob>(object);
  if (!job.status) return found;
  for (const TrainingCondition& one : job.status->conditions)
    found.push_back({one.type_, one.status, one.reason, one.message});
  return found;
}

bool is_t9k_retryable(int exit_code) {
  switch (exit_code) {
    case 130:  // SIGINT
    case 137:  // SIGKILL
    case 138:  // the user's own
    case 143:  // SIGTERM
      return true;
    default:
      return false;
  }
}

constinit const WorkloadReader training_job_reader{
    .system = t9k_actor,
    .info = &PyTorchTrainingJob::info,
    .read = &read_training_job,
    .actor = t9k_actor,
    .pods_by = t9k_actor,
    .controller = "pytorchtrainingjob-controller",
    .group_label = "replica-type",
    .index_label = "replica-index",
    .main_container = "python",
    .retryable = &is_t9k_retryable,
    .success = "Completed",
    .failure = "Failed",
};

}  // namespace ddptwin::scenario
