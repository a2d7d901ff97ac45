#include "controller/t9k/status.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "objects/kinds.hpp"

namespace ddptwin::controller::t9k {
namespace {

// As the document's sample has them.
constexpr std::array condition_order{condition::initialized,     condition::running,
                                     condition::failed,          condition::completed,
                                     condition::replica_failure, condition::paused};

std::size_t place_of(std::string_view type) {
  return static_cast<std::size_t>(std::find(condition_order.begin(), condition_order.end(), type) -
                                  condition_order.begin());
}

struct PhaseRow {
  std::string_view phase;
  std::int32_t TaskAggregate::*sum;
};
constexpr std::array phase_rows{PhaseRow{phase::creating, &TaskAggregate::creating},
                                PhaseRow{"Pending", &TaskAggregate::pending},
                                PhaseRow{"Running", &TaskAggregate::running},
                                PhaseRow{"Succeeded", &TaskAggregate::succeeded},
                                PhaseRow{"Failed", &TaskAggregate::failed},
                                PhaseRow{"Unknown", &TaskAggregate::unknown},
                                PhaseRow{phase::deleted, &TaskAggregate::deleted}};

// The first that holds (§9).
std::string_view phase_of(const PyTorchTrainingJobStatus& status,
                          const PyTorchTrainingJobSpec& spec) {
  if (status.is_true(condition::completed)) return "Succeeded";
  if (status.is_true(condition::failed)) return "Failed";
  if (is_paused(spec)) return "Paused";
  const bool running = status.is_true(condition::running);
  if (was_paused(status) && !running) return "Resuming";
  const bool has_master = !status.tasks.empty() && !status.tasks.front().replicas.empty();
  if (has_master && status.tasks.front().replicas.front().phase == "Unknown")
    return "Unknown";  // PROPOSED (G19)
  return running ? "Running" : "Pending";
}

}  // namespace

std::string failure_text(std::string_view replica, std::optional<int> exit_code) {
  return exit_code ? fmt::format("Replica {} failed with exit code {}.", replica, *exit_code)
                   : fmt::format("Replica {} failed.", replica);
}

void set_condition(PyTorchTrainingJobStatus& status, std::string_view type, bool value, Words words,
                   Time now) {
  const std::string_view text = value ? "True" : "False";
  auto& all = status.conditions;
  auto at = std::find_if(all.begin(), all.end(),
                         [type](const TrainingCondition& one) { return one.type_ == type; });
  if (at == all.end()) {
    at = std::find_if(all.begin(), all.end(), [type](const TrainingCondition& one) {
      return place_of(one.type_) > place_of(type);
    });
    at = all.insert(at, TrainingCondition{.type_ = std::string(type)});
  }
  if (at->status != text) at->lastTransitionTime = now;
  at->status = text;
  at->reason = words.reason;
  at->message = words.message;
}

bool is_finished(const PyTorchTrainingJobStatus& status) {
  return status.is_true(condition::completed) || status.is_true(condition::failed);
}

bool was_paused(const PyTorchTrainingJobStatus& status) {
  return status.condition(condition::paused) != nullptr;
}

void sum_up(PyTorchTrainingJobStatus& status, const PyTorchTrainingJobSpec& spec) {
  status.aggregate = TaskAggregate();
  for (const TrainingTask& task : status.tasks)
    for (const TaskReplica& replica : task.replicas) {
      const auto row = std::find_if(phase_rows.begin(), phase_rows.end(), [&](const PhaseRow& one) {
        return one.phase == replica.phase;
      });
      ++(row == phase_rows.end() ? status.aggregate.unknown : status.aggregate.*row->sum);
    }
  status.phase = phase_of(status, spec);
}

std::vector<TaskContainer> containers_of(const Pod& pod) {
  std::vector<TaskContainer> all;
  for (const Container& container : pod.spec->containers) {
    TaskContainer& told = all.emplace_back(TaskContainer{container.name, "Waiting", std::nullopt});
    for (const ContainerStatus& status : pod.status.containerStatuses) {
      if (status.name != container.name) continue;
      if (status.state.running) told.state = "Running";
      if (status.state.terminated) {
        told.state = "Terminated";
        told.exitCode = status.state.terminated->exitCode;
      }
    }
  }
  return all;
}

DependentStatus tensorboard_status(const std::string& name, const TensorBoard* there) {
  DependentStatus told{.action = "Create",
                       .note = fmt::format("TensorBoard [{}] is being created", name),
                       .reason = "DependentNotFound",
                       .type_ = "Normal"};
  if (there == nullptr) return told;
  told.action = "NOP";
  told.ready = there->status && there->status->ready;
  told.reason = told.ready ? "DependentReady" : "DependentNotReady";
  told.note = fmt::format("TensorBoard [{}] {}", name, told.ready ? "is ready" : "is not ready");
  told.dependent = DependentReference{there->kind().api_version(), there->kind().kind, name,
                                      there->metadata.namespace_.str(), there->metadata.uid.str()};
  return told;
}

}  // namespace ddptwin::controller::t9k
