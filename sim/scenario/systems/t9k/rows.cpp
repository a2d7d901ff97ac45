// What T9k promises of its PyTorchTrainingJobs (spec/t9k.md §18).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/numbers.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/systems/t9k/parts.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;
using namespace std::string_view_literals;

const PyTorchTrainingJob& training_job(const Object& object) {
  return *as<PyTorchTrainingJob>(object);
}

const PyTorchTrainingJobStatus* status_of(const ObjectPtr& object) {
  if (object == nullptr) return nullptr;
  const auto& status = training_job(*object).status;
  return status ? &*status : nullptr;
}

// The status that the record has just brought; null: it brought none.
const PyTorchTrainingJobStatus* new_status(const Sight& sight) {
  return sight.job == nullptr || sight.record == nullptr ? nullptr : status_of(sight.record->after);
}

const PyTorchTrainingJobStatus* old_status(const Sight& sight) {
  return is_change(sight) ? status_of(sight.record->before) : nullptr;
}

std::string_view t9k_variable(const Pod& pod, std::string_view name) {
  std::string_view value;
  if (pod.spec->containers.empty()) return value;
  for (const EnvVar& one : pod.spec->containers.front().env)
    if (one.name == name) value = one.value;
  return value;
}

// ---- the budget --------------------------------------------------------------------------------

bool budget(const Sight& sight, Verdicts& verdicts) {
  const PyTorchTrainingJobStatus* now = new_status(sight);
  if (now == nullptr) return false;
  const std::string job = sight.job->text();
  int counted = 0;
  for (const TrainingTask& task : now->tasks) counted += task.restartCount;
  if (counted != now->backoffCount)
    verdicts.violated(job, fmt::format("backoffCount of {} is {}, and its groups were restarted {} "
                                       "times",
                                       job, now->backoffCount, counted));
  const PyTorchTrainingJobStatus* was = old_status(sight);
  const int before = was == nullptr ? 0 : was->backoffCount;
  if (now->backoffCount < before)
    verdicts.violated(
        job, fmt::format("backoffCount of {} went from {} to {}", job, before, now->backoffCount));
  // What was written may have been decided before the limit was lowered.
  const std::int64_t limit =
      std::max(sight.job->traits.backoff.value_or(3), sight.job->before.backoff.value_or(0));
  if (now->backoffCount > before && now->backoffCount > limit)
    verdicts.violated(job, fmt::format("{} was restarted for the {}. time, with backoffLimit {}",
                                       job, now->backoffCount, limit));
  return true;
}

// The count goes up by the restarts that are noted with it, each of a pod of its own.
bool counts_once(const Sight& sight, Verdicts& verdicts) {
  const PyTorchTrainingJobStatus *now = new_status(sight), *was = old_status(sight);
  if (now == nullptr || was == nullptr || now->backoffCount == was->backoffCount) return false;
  int noted = 0;
  for (const TrainingTask& task : now->tasks) {
    const TrainingTask* old = was->task(task.type_);
    for (std::size_t i = 0; i < task.replicas.size(); ++i) {
      const std::string& uid = task.replicas[i].lastRestartedUID;
      const bool is_old =
          old != nullptr && i < old->replicas.size() && old->replicas[i].lastRestartedUID == uid;
      noted += uid.empty() || is_old ? 0 : 1;
    }
  }
  const int more = now->backoffCount - was->backoffCount;
  if (noted != more)
    verdicts.violated(sight.job->text(),
                      fmt::format("backoffCount of {} went up by {}, and {} pods are noted as "
                                  "restarted",
                                  sight.job->text(), more, noted));
  return true;
}

// The pods themselves: a failed one that the controller took away is made again as often as it
// says, and no more.
bool restarts_are_counted(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || !is_new_pod(sight)) return false;
  const JobFacts& job = *sight.job;
  if (job.restart_record != sight.record->id || job.suspend_seen) return false;
  const PyTorchTrainingJobStatus* status = status_of(job.last);
  const std::int64_t counted = status == nullptr ? 0 : status->backoffCount;
  if (job.replaced > counted)
    verdicts.violated(job.text(), fmt::format("{} pods of {} were made again after a failure, and "
                                              "its backoffCount is {}",
                                              job.replaced, job.text(), counted));
  const std::int64_t limit =
      std::max(job.traits.backoff.value_or(3), job.before.backoff.value_or(0));
  if (job.replaced > limit)
    verdicts.violated(job.text(), fmt::format("{} pods of {} were made again after a failure, with "
                                              "backoffLimit {}",
                                              job.replaced, job.text(), limit));
  return true;
}

bool policy_is_kept(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || !is_new_pod(sight)) return false;
  const JobFacts& job = *sight.job;
  if (job.suspend_seen) return false;  // a resume makes all of them again
  const bool restarts = job.restart_record == sight.record->id;
  const Workload::Group* group = job.spec_of(sight.pod->type);
  if (!restarts || group == nullptr) return restarts;
  const std::string pod = name_of(*sight.pod->last);
  if (group->restart == "Never"sv)
    verdicts.violated(pod, fmt::format("{} failed and was made again, under policy Never", pod));
  if (group->restart == "ExitCode"sv && sight.pod->replica().own_permanent)
    verdicts.violated(pod, fmt::format("{} failed with a code that is not worth another try, and "
                                       "was made again under policy ExitCode",
                                       pod));
  return true;
}

// ---- what the status says ----------------------------------------------------------------------

bool sums(const Sight& sight, Verdicts& verdicts) {
  const PyTorchTrainingJobStatus* now = new_status(sight);
  if (now == nullptr || now->tasks.empty()) return false;
  std::size_t told = 0;
  for (const TrainingTask& task : now->tasks) told += task.replicas.size();
  const std::string job = sight.job->text();
  if (static_cast<std::size_t>(now->aggregate.sum()) != told)
    verdicts.violated(job, fmt::format("the aggregate of {} is of {} replicas, and its tasks have "
                                       "{}",
                                       job, now->aggregate.sum(), told));
  return true;
}

// Of one that has not ended: then its specification changes nothing any more.
bool tells_of_all(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || job.finished() || sight.facts.disturbed()) return false;
  const PyTorchTrainingJobStatus* status = status_of(job.last);
  if (status == nullptr) return false;
  if (status->aggregate.sum() != job.wanted())
    verdicts.violated(job.text(), fmt::format("{} wants {} replicas and tells of {}", job.text(),
                                              job.wanted(), status->aggregate.sum()));
  return true;
}

bool phase_is_true(const Sight& sight, Verdicts& verdicts) {
  const PyTorchTrainingJobStatus* now = new_status(sight);
  if (now == nullptr) return false;
  const std::string job = sight.job->text();
  const auto agree = [&](std::string_view phase, std::string_view condition) {
    if ((now->phase == phase) != now->is_true(condition))
      verdicts.violated(job, fmt::format("the phase of {} is {}, and its condition {} is {}", job,
                                         now->phase, condition, now->is_true(condition)));
  };
  agree("Succeeded", "Completed");
  agree("Failed", "Failed");
  return true;
}

struct Passage {
  std::string_view from, to;
};
// §9. Out of Unknown everything may come.
constexpr std::array passages{Passage{"", "Pending"},        Passage{"", "Paused"},
                              Passage{"", "Running"},        Passage{"Pending", "Running"},
                              Passage{"Pending", "Paused"},  Passage{"Pending", "Succeeded"},
                              Passage{"Pending", "Failed"},  Passage{"Pending", "Unknown"},
                              Passage{"Running", "Paused"},  Passage{"Running", "Succeeded"},
                              Passage{"Running", "Failed"},  Passage{"Running", "Unknown"},
                              Passage{"Paused", "Resuming"}, Passage{"Paused", "Succeeded"},
                              Passage{"Paused", "Running"},  Passage{"Resuming", "Running"},
                              Passage{"Resuming", "Paused"}, Passage{"Resuming", "Succeeded"},
                              Passage{"Resuming", "Failed"}, Passage{"Resuming", "Unknown"}};

bool passes_through_phases(const Sight& sight, Verdicts& verdicts) {
  const PyTorchTrainingJobStatus *now = new_status(sight), *was = old_status(sight);
  if (now == nullptr) return false;
  const std::string_view from = was == nullptr ? "" : std::string_view(was->phase);
  if (from == now->phase || from == "Unknown") return false;
  const bool known = std::any_of(passages.begin(), passages.end(), [&](const Passage& one) {
    return one.from == from && one.to == now->phase;
  });
  if (!known)
    verdicts.violated(sight.job->text(), fmt::format("the phase of {} went from {} to {}",
                                                     sight.job->text(), from, now->phase));
  return true;
}

bool conditions_are_plain(const Sight& sight, Verdicts& verdicts) {
  const PyTorchTrainingJobStatus *now = new_status(sight), *was = old_status(sight);
  if (now == nullptr) return false;
  const std::string job = sight.job->text();
  std::set<std::string_view> seen;
  for (const TrainingCondition& one : now->conditions) {
    if (!seen.insert(one.type_).second)
      verdicts.violated(job, fmt::format("{} has two conditions {}", job, one.type_));
    const TrainingCondition* old = was == nullptr ? nullptr : was->condition(one.type_);
    if (old != nullptr && old->status == one.status &&
        old->lastTransitionTime != one.lastTransitionTime)
      verdicts.violated(job, fmt::format("the lastTransitionTime of condition {} of {} moved, and "
                                         "its status did not",
                                         one.type_, job));
  }
  return true;
}

bool fails_for_a_reason(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || !now_failed(sight)) return false;
  const JobFacts& job = *sight.job;
  const auto& deadline = job.traits.deadline;
  if (deadline && job.traits.started &&
      sight.now >= *job.traits.started + std::chrono::seconds(*deadline))
    return true;
  if (!job.types.empty() && !job.types.front().replicas.empty() &&
      job.types.front().replicas.front().failed)
    return true;
  verdicts.violated(job.text(), fmt::format("{} is Failed, and its master has not failed and its "
                                            "activeDeadlineSeconds are not over",
                                            job.text()));
  return true;
}

// ---- pods --------------------------------------------------------------------------------------

bool master_is_marked(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || !is_new_pod(sight)) return false;
  const PodFacts& pod = *sight.pod;
  const Text* role = pod.last->metadata.label("job-role");
  const bool marked = role != nullptr && *role == "master";
  const bool is_master = pod.index == 0 && !sight.job->traits.groups.empty() &&
                         sight.job->type(pod.type).name == sight.job->traits.groups.front().name;
  if (marked != is_master)
    verdicts.violated(name_of(*pod.last), fmt::format("{} is {}marked as master",
                                                      name_of(*pod.last), marked ? "" : "not "));
  return true;
}

bool pods_never_restart(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || !is_new_pod(sight)) return false;
  const Pod& pod = *sight.pod->last;
  if (pod.spec->restartPolicy != "Never")
    verdicts.violated(name_of(pod), fmt::format("{} has restartPolicy {}", name_of(pod),
                                                pod.spec->restartPolicy));
  return true;
}

bool ranks_are_in_order(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || !is_new_pod(sight)) return false;
  const PodFacts& pod = *sight.pod;
  const std::string name = name_of(*pod.last);
  std::int64_t rank = pod.index;
  for (const Workload::Group& group : sight.job->traits.groups) {
    if (group.name == sight.job->type(pod.type).name) break;
    rank += group.wanted;
  }
  // It may have been made for a size that was changed just now.
  if (pod.rank != rank && sight.job->worlds.size() < 2)
    verdicts.violated(name, fmt::format("{} has RANK {}, not {}", name, pod.rank, rank));
  if (pod.rank < 0 || pod.rank >= pod.world_size)
    verdicts.violated(
        name, fmt::format("{} has RANK {} in a world of {}", name, pod.rank, pod.world_size));
  for (const PodFacts* other : sight.job->pods)
    for (const std::string_view variable : {"MASTER_ADDR"sv, "MASTER_PORT"sv})
      if (t9k_variable(*other->last, variable) != t9k_variable(*pod.last, variable))
        verdicts.violated(name, fmt::format("{} and {} have different {}", name,
                                            name_of(*other->last), variable));
  return true;
}

bool makes_none_while_paused(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || !is_new_pod(sight)) return false;
  const PyTorchTrainingJobStatus* status = status_of(sight.job->last);
  if (status == nullptr || !status->is_true("Paused")) return false;
  verdicts.violated(
      name_of(*sight.pod->last),
      fmt::format("{} was made while {} is Paused", name_of(*sight.pod->last), sight.job->text()));
  return true;
}

bool cleans_up(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || !job.finished() || sight.facts.disturbed()) return false;
  const std::string& policy = training_job(*job.last).spec->runPolicy.cleanUpPolicy;
  for (const PodFacts* pod : job.pods) {
    const bool stays = policy.empty() || policy == "None" ||
                       (policy == "Unfinished" && is_terminal_phase(pod->last->status.phase));
    if (!stays && !pod->terminating())
      verdicts.violated(job.text(),
                        fmt::format("{} has ended with cleanUpPolicy {}, and {} is still there",
                                    job.text(), policy, name_of(*pod->last)));
  }
  return true;
}

bool keeps_what_it_is_to_keep(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.pod == nullptr || sight.record == nullptr) return false;
  if (!deletion_asked(*sight.record, t9k_actor) || !sight.job->finished()) return false;
  const std::string& policy = training_job(*sight.job->last).spec->runPolicy.cleanUpPolicy;
  const bool ended = is_terminal_phase(
      sight.record->before == nullptr ? "" : as<Pod>(*sight.record->before)->status.phase.view());
  if (policy == "All" || (policy == "Unfinished" && !ended)) return true;
  verdicts.violated(
      name_of(*sight.pod->last),
      fmt::format("{} was deleted after {} had ended, with cleanUpPolicy {}",
                  name_of(*sight.pod->last), sight.job->text(), policy.empty() ? "None" : policy));
  return true;
}

// A gang is placed together: some of it alone would hold what others need.
bool gangs_together(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (job.last == nullptr || sight.facts.was_disturbed() || job.finished()) return false;
  const PyTorchTrainingJobSpec& spec = *training_job(*job.last).spec;
  if (!spec.scheduler || !spec.scheduler->t9kScheduler) return false;
  const bool scaled =
      spec.elastic && spec.elastic->enabled && spec.torchrunConfig && spec.torchrunConfig->enabled;
  const int least = scaled ? spec.elastic->minReplicas.value_or(1) : job.wanted();
  int placed = 0;
  for (const PodFacts* pod : job.pods) {
    // Where one was lost, the others stay.
    if (pod->type < 0 || pod->terminating() || pod->replica().created != 1) return false;
    placed += pod->last->spec->nodeName.empty() ? 0 : 1;
  }
  if (placed > 0 && placed < least)
    verdicts.violated(job.text(), fmt::format("{} of {} pods of {} have a node, and the others "
                                              "have none",
                                              placed, least, job.text()));
  return true;
}

constexpr std::uint32_t t9k_jobs = topics(Topic::job), t9k_pods = topics(Topic::pod),
                        t9k_nothing = 0;

constexpr std::array promises{
    InvariantRow{"t9k-budget", "T-INV-1",
                 "backoffCount is the sum of the groups' restarts, and at most backoffLimit.",
                 "One budget for all replicas: the count never goes down, and is raised no more "
                 "once it has reached the limit.",
                 "", false, t9k_jobs, &budget, nullptr, nullptr},
    InvariantRow{"t9k-counts-once", "T-INV-1", "A restart is counted once.",
                 "With each count the pod that it is of is noted, before that goes: a controller "
                 "that crashes between the two does not count it again.",
                 "", false, t9k_jobs, &counts_once, nullptr, nullptr},
    InvariantRow{"t9k-restarts-are-counted", "T-INV-1",
                 "No failed pod is made again that backoffCount does not tell of.",
                 "The pods themselves are counted: those that the controller took away Failed, and "
                 "made anew. Of jobs that were never paused, for a resume is free.",
                 "", false, t9k_pods, &restarts_are_counted, nullptr, nullptr},
    InvariantRow{"t9k-policy", "T-INV-11, T-INV-12",
                 "A failed replica is made again only where its restart policy says so.",
                 "Never: none. ExitCode: after 130, 137, 138, 143, or where no code is known.", "",
                 false, t9k_pods, &policy_is_kept, nullptr, nullptr},
    InvariantRow{"t9k-sums", "T-INV-2", "The aggregate counts every replica of tasks once.",
                 "In every status that is written.", "", false, t9k_jobs, &sums, nullptr, nullptr},
    InvariantRow{"t9k-tells-of-all", "T-INV-2",
                 "At rest the aggregate counts as many replicas as are wanted.",
                 "replicas of all groups, or expectedReplicas of an elastic job.", "", false,
                 t9k_nothing, nullptr, &tells_of_all, nullptr},
    InvariantRow{"t9k-phase", "T-INV-3",
                 "Phase Succeeded goes with condition Completed, Failed with Failed.",
                 "In every status that is written.", "", false, t9k_jobs, &phase_is_true, nullptr,
                 nullptr},
    InvariantRow{"t9k-passages", "T-INV-4, T-INV-16",
                 "A phase follows another as the life of a job has them.",
                 "Nothing follows Succeeded or Failed, and Running comes again after Paused by way "
                 "of Resuming.",
                 "", false, t9k_jobs, &passes_through_phases, nullptr, nullptr},
    InvariantRow{"t9k-conditions", "T-INV-15", "A condition's time changes with its status alone.",
                 "And each type stands once.", "", false, t9k_jobs, &conditions_are_plain, nullptr,
                 nullptr},
    InvariantRow{"t9k-fails-for-a-reason", "T-INV-5",
                 "A job fails with its master, or by its deadline.", "Whatever other replicas do.",
                 "", false, t9k_jobs, &fails_for_a_reason, nullptr, nullptr},
    InvariantRow{"t9k-master-is-marked", "T-INV-6",
                 "job-role=master stands on replica 0 of the first group, and on no other.", "", "",
                 false, t9k_pods, &master_is_marked, nullptr, nullptr},
    InvariantRow{"t9k-pods-never-restart", "T-INV-7", "Every replica has restartPolicy Never.",
                 "Whatever its template says: the controller restarts.", "", false, t9k_pods,
                 &pods_never_restart, nullptr, nullptr},
    InvariantRow{"t9k-ranks", "T-INV-8",
                 "RANK counts the groups one after the other, within WORLD_SIZE.",
                 "And all replicas agree on MASTER_ADDR and MASTER_PORT.", "", false, t9k_pods,
                 &ranks_are_in_order, nullptr, nullptr},
    InvariantRow{"t9k-paused", "T-INV-9", "No pod is made while a job is Paused.", "", "", false,
                 t9k_pods, &makes_none_while_paused, nullptr, nullptr},
    InvariantRow{"t9k-clean-up", "T-INV-13",
                 "At rest a finished job has only the pods that cleanUpPolicy leaves it.",
                 "All: none. Unfinished: those that have Succeeded or Failed.", "", false,
                 t9k_nothing, nullptr, &cleans_up, nullptr},
    InvariantRow{"t9k-keeps", "T-INV-13",
                 "The controller deletes no pod of a finished job that cleanUpPolicy keeps.",
                 "None: not one, and so the logs stay.", "", false, t9k_pods,
                 &keeps_what_it_is_to_keep, nullptr, nullptr},
    InvariantRow{
        "t9k-gang", "T-INV-14",
        "At rest a job of T9k's scheduler has a node for all that must be placed together, "
        "or for none.",
        "minMember of its PodGroup: all replicas, or minReplicas of an elastic job. Of "
        "jobs that have lost no pod.",
        "", false, t9k_nothing, nullptr, &gangs_together, nullptr},
};

}  // namespace

std::span<const InvariantRow> t9k_invariants() { return promises; }

}  // namespace ddptwin::scenario
