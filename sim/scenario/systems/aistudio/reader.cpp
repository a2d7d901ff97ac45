// A DDPTask as judges see it (spec/aistudio.md §2, §5). Nothing here is the controller's: what it
// works out is worked out anew.
#include "scenario/systems/aistudio/parts.hpp"

namespace ddptwin::scenario {
namespace {

Workload read_ddptask(const Object& object) {
  const DDPTask& task = *as<DDPTask>(object);
  Workload told;
  Workload::Group group;
  group.wanted = task.spec->workers.value_or(1);
  group.restart = "Never";
  group.decides = true;
  group.init_containers = 1;
  told.groups.push_back(group);
  told.world = group.wanted;
  told.tells_rank = told.tells_world = true;
  // By the button, or by a worker's word (§8).
  told.suspended = task.spec->stop || (task.status && task.status->phase == "Stopped");
  // Fault tolerance starts all of them again, so many times.
  const DDPTaskFaultTolerance& again = task.spec->faultTolerance;
  told.backoff = again.enabled ? std::int64_t{again.maxRetries.value_or(0)} * group.wanted : 0;
  if (!task.status) return told;
  told.told = !task.status->phase.empty();
  told.started = task.status->startTime;
  if (task.status->phase != "Stopped") told.completed = task.status->finishTime;
  told.succeeded = task.status->phase == "Succeeded";
  told.failed = task.status->phase == "Failed";
  told.says_suspended = task.status->phase == "Stopped";
  return told;
}

}  // namespace

std::vector<ToldCondition> conditions_of_ddptask(const Object& object) {
  const DDPTask& task = *as<DDPTask>(object);
  if (!task.status || task.status->phase.empty()) return {};
  return {{.type = task.status->phase,
           .status = "True",
           .reason = task.status->reason,
           .message = task.status->message}};
}

constinit const WorkloadReader ddptask_reader{
    .system = aistudio_actor,
    .info = &DDPTask::info,
    .read = &read_ddptask,
    .actor = aistudio_actor,
    .pods_by = aistudio_actor,
    .controller = "ddptask-controller",
    .index_label = "aistudio.twin/rank",
    .main_container = "worker",
    .success = "Succeeded",
    .failure = "Failed",
};

}  // namespace ddptwin::scenario
