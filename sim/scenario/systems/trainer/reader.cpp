// A TrainJob as judges see it (spec/trainjob.md §1, §7). Nothing here is the controller's: what it
// works out is worked out anew. Its pods are its JobSet's, which is a workload of its own.
#include "objects/trainjob.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/trainer/parts.hpp"

namespace ddptwin::scenario {
namespace {

const JobSetCondition* condition_of_trainjob(const TrainJob& job, std::string_view type) {
  if (!job.status) return nullptr;
  for (const JobSetCondition& one : job.status->conditions)
    if (one.type_ == type) return &one;
  return nullptr;
}

// Its time begins anew when it goes on after a pause, unless it has ended by then.
void read_times(const TrainJob& job, Workload& told) {
  if (job.spec->activeDeadlineSeconds != 0) told.deadline = job.spec->activeDeadlineSeconds;
  told.started = job.metadata.creationTimestamp;
  const JobSetCondition* paused = condition_of_trainjob(job, "Suspended");
  if (paused == nullptr || paused->status != "False") return;
  if (!told.completed || paused->lastTransitionTime <= told.completed)
    told.started = paused->lastTransitionTime;
}

Workload read_trainjob(const Object& object) {
  const TrainJob& job = *as<TrainJob>(object);
  Workload told;
  told.suspended = job.spec->suspend.value_or(false);
  told.of_others = job.spec->managedBy.value_or(std::string(trainjob_controller_name)) !=
                   trainjob_controller_name;
  told.told = job.status && !job.status->conditions.empty();
  const auto holds = [&job](std::string_view type) {
    const JobSetCondition* one = condition_of_trainjob(job, type);
    return one != nullptr && one->status == "True" ? one : nullptr;
  };
  const JobSetCondition *complete = holds("Complete"), *failed = holds("Failed");
  told.succeeded = complete != nullptr;
  told.failed = failed != nullptr;
  if (failed != nullptr) told.completed = failed->lastTransitionTime;
  if (complete != nullptr) told.completed = complete->lastTransitionTime;
  told.says_suspended = holds("Suspended") != nullptr;
  read_times(job, told);
  return told;
}

}  // namespace

constinit const WorkloadReader trainjob_reader{
    .system = trainer_actor,
    .info = &TrainJob::info,
    .read = &read_trainjob,
    .actor = trainer_actor,
    .pods_by = trainer_actor,
    .controller = "trainer-trainjob-controller",
    .hands_on = true,
    .success = "Complete",
    .failure = "Failed",
};

}  // namespace ddptwin::scenario
