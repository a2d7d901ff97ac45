// Invariants about the pods of a job: how many, which, in what order, with what environment, and
// why one is taken away.
#include <fmt/format.h>

#include <algorithm>

#include "controller/training_operator/names.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

bool has_ended(const PodFacts& pod) { return is_terminal_phase(pod.last->status.phase); }

const ReplicaFacts* replica_of(const PodFacts& pod) {
  if (pod.job == nullptr || pod.type < 0) return nullptr;
  return &pod.job->types[static_cast<std::size_t>(pod.type)]
              .replicas[static_cast<std::size_t>(pod.index)];
}

std::string_view variable(const Pod& pod, std::string_view name) {
  std::string_view value;
  if (pod.spec->containers.empty()) return value;
  for (const EnvVar& one : pod.spec->containers.front().env)
    if (one.name == name) value = one.value;
  return value;
}

bool is_new_pod(const Sight& sight) {
  return sight.record->kind == RecordKind::object_added && sight.pod != nullptr &&
         sight.pod->type >= 0 && sight.record->actor == operator_actor;
}

bool judge_world(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || !job.has_master()) return false;
  if (job.last->spec->elasticPolicy) return false;  // PET_NNODES tells torchrun a range
  for (const PodFacts* pod : job.pods) {
    if (pod->terminating() || has_ended(*pod) || pod->world_size == job.worlds.back()) continue;
    verdicts.violated(job.text(),
                      fmt::format("{} has WORLD_SIZE {}, and the job has {} processes",
                                  name_of(*pod->last), pod->world_size, job.worlds.back()));
    return true;
  }
  return true;
}

// Of a replica type that the spec no longer has: a pod, or a Service, or the status says of some
// that they run.
std::string remains_of(const JobFacts& job, int type) {
  for (const PodFacts* pod : job.pods)
    if (pod->type == type && !pod->terminating()) return name_of(*pod->last);
  const std::string label = controller::pytorchjob::lower(type_name(type));
  for (const auto& [name, service] : job.services) {
    const Text* of = service.last->metadata.label(controller::pytorchjob::label::replica_type);
    if (of != nullptr && *of == label) return name_of(*service.last);
  }
  const auto& status = job.last->status;
  if (!status || !status->replicaStatuses) return {};
  const auto found = status->replicaStatuses->find(type_name(type));
  const bool counts = found != status->replicaStatuses->end() && found->second.active > 0;
  return counts ? fmt::format("the status of {} active ones", found->second.active) : std::string();
}

// Its policies and limits explain its end without any disruption.
bool failed_by_itself(const JobFacts& job, Time now) {
  for (int type = 0; type < 2; ++type) {
    const ReplicaSpec* spec = job.spec_of(type);
    if (spec == nullptr) continue;
    for (const ReplicaFacts& one : job.types[static_cast<std::size_t>(type)].replicas) {
      // Policy Never asks for no second try, whatever ended the first.
      if (spec->restartPolicy == "Never" && one.failed) return true;
      if (spec->restartPolicy == "ExitCode" && one.own_permanent) return true;
    }
  }
  const RunPolicy& policy = job.last->spec->runPolicy;
  const auto& status = job.last->status;
  if (policy.activeDeadlineSeconds && status && status->startTime &&
      now >= *status->startTime + std::chrono::seconds(*policy.activeDeadlineSeconds))
    return true;
  if (!policy.backoffLimit) return false;
  std::int64_t failures = job.replaced + job.restarts;
  for (const PodFacts* pod : job.pods)
    failures += pod->is("Failed") && !pod->disrupted && !pod->follows_disruption(now) ? 1 : 0;
  return *policy.backoffLimit < 0 || failures >= std::max(*policy.backoffLimit, 1);
}

constexpr std::int32_t killed_code = 137;

// The code that is reported for the start that was killed, once; nothing: not yet, or no longer.
std::optional<std::int32_t> code_after_kill(PodFacts& pod, const ContainerStatus& status) {
  PodFacts::ContainerFacts& container = pod.container(status.name);
  const int newest = status.restartCount + 1;  // the start that `state` tells of
  if (container.killed_start == 0 || newest < container.killed_start) return std::nullopt;
  const bool is_newest = newest == container.killed_start;
  const auto& end = is_newest ? status.state.terminated : status.lastState->terminated;
  if (is_newest && !end) return std::nullopt;
  const bool told = end && newest <= container.killed_start + 1;
  container.killed_start = 0;
  return told ? std::optional(end->exitCode) : std::nullopt;
}

}  // namespace

bool deletion_asked(const Record& record, std::string_view actor) {
  if (record.actor != actor || record.before == nullptr) return false;
  if (record.before->metadata.deletionTimestamp) return false;
  return record.after == nullptr || record.after->metadata.deletionTimestamp.has_value();
}

bool no_duplicates(const Sight& sight, Verdicts& verdicts) {
  if (sight.pod == nullptr) return false;
  const ReplicaFacts* replica = replica_of(*sight.pod);
  if (replica == nullptr) return false;
  if (replica->pods.size() < 2) return true;
  const auto live = std::count_if(replica->pods.begin(), replica->pods.end(),
                                  [](const PodFacts* pod) { return !has_ended(*pod); });
  if (live > 1)
    verdicts.violated(sight.job->text(),
                      fmt::format("{} has {} live pods for {} {}", sight.job->text(), live,
                                  type_name(sight.pod->type), sight.pod->index));
  return true;
}

bool environment(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight) || !sight.job->has_master()) return false;
  const JobFacts& job = *sight.job;
  if (job.types[0].wanted_min < 1) return false;  // there was a time without a Master
  const PodFacts& pod = *sight.pod;
  const std::int64_t rank = pod.type == 0 ? pod.index : pod.index + 1;
  if (pod.rank != rank)
    verdicts.violated(name_of(*pod.last), fmt::format("{} has RANK {}, not {}", name_of(*pod.last),
                                                      variable(*pod.last, "RANK"), rank));
  // A pod may come from a spec that has just been changed.
  if (std::find(job.worlds.begin(), job.worlds.end(), pod.world_size) == job.worlds.end())
    verdicts.violated(
        name_of(*pod.last),
        fmt::format("{} has WORLD_SIZE {}, and the job has {} processes", name_of(*pod.last),
                    variable(*pod.last, "WORLD_SIZE"), job.worlds.back()));
  const std::string master = controller::pytorchjob::replica_name(
      job.last->metadata.name, controller::pytorchjob::master_type, 0);
  if (variable(*pod.last, "MASTER_ADDR") != master)
    verdicts.violated(name_of(*pod.last),
                      fmt::format("{} has MASTER_ADDR {}, which is not {}", name_of(*pod.last),
                                  variable(*pod.last, "MASTER_ADDR"), master));
  return true;
}

bool distinct_ranks(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight) || !sight.job->has_master() || sight.pod->rank < 0) return false;
  for (const PodFacts* other : sight.job->pods) {
    if (other == sight.pod || other->terminating() || has_ended(*other)) continue;
    if (other->rank == sight.pod->rank)
      verdicts.violated(name_of(*sight.pod->last),
                        fmt::format("{} and {} both have RANK {}", name_of(*sight.pod->last),
                                    name_of(*other->last), other->rank));
  }
  return true;
}

bool world_agrees(const Sight& sight, Verdicts& verdicts) {
  return sight.job->worlds.size() == 1 && judge_world(sight, verdicts);
}

bool world_agrees_after_scaling(const Sight& sight, Verdicts& verdicts) {
  return sight.job->worlds.size() > 1 && judge_world(sight, verdicts);
}

bool creation_order(const Sight& sight, Verdicts& verdicts) {
  const Record& record = *sight.record;
  if (record.kind != RecordKind::object_added || record.actor != operator_actor) return false;
  if (sight.job == nullptr) return false;
  const ObjectMeta& metadata = record.after->metadata;
  const Text* label = metadata.label(controller::pytorchjob::label::replica_type);
  const auto index = controller::pytorchjob::replica_index(metadata);
  if (label == nullptr || !index || *index < 0) return false;
  const TypeFacts& type = sight.job->types[*label == "master" ? 0 : 1];
  // A pod comes after those of lower indices, a Service after all pods of its type.
  const bool service = sight.pod == nullptr;
  const auto before = static_cast<std::size_t>(service ? std::max(type.wanted_min, 0) : *index);
  for (std::size_t i = 0; i < before; ++i) {
    if (i < type.replicas.size() && type.replicas[i].created > 0) continue;
    verdicts.violated(name_of(*record.after), fmt::format("{} was made before the pod of {} {}",
                                                          name_of(*record.after), *label, i));
    return true;
  }
  return true;
}

bool count(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || job.blocked()) return false;
  if (sight.facts.panicked()) return false;
  const bool leaving = std::any_of(job.pods.begin(), job.pods.end(),
                                   [](const PodFacts* pod) { return pod->terminating(); });
  const bool refused = job.pods.empty() && job.warned > 0;  // "visible" judges it
  if (leaving || refused) return false;
  for (int type = 0; type < 2; ++type) {
    if (job.spec_of(type) == nullptr) continue;  // "type-removed" judges what is left of it
    const auto& replicas = job.types[static_cast<std::size_t>(type)].replicas;
    const auto wanted = static_cast<std::size_t>(std::max(job.wanted(type), 0));
    for (std::size_t i = 0; i < std::max(wanted, replicas.size()); ++i) {
      const std::size_t pods = i < replicas.size() ? replicas[i].pods.size() : 0;
      if (pods == (i < wanted ? 1U : 0U)) continue;
      verdicts.violated(job.text(), fmt::format("{} wants {} {} and has {} pods of index {}",
                                                job.text(), wanted, type_name(type), pods, i));
      return true;
    }
  }
  return true;
}

bool type_removed(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || sight.facts.panicked()) return false;
  bool any = false;
  for (int type = 0; type < 2; ++type) {
    const TypeFacts& facts = job.types[static_cast<std::size_t>(type)];
    if (facts.spec != nullptr || facts.wanted_max < 1) continue;
    any = true;
    std::string left = remains_of(job, type);
    if (!left.empty())
      verdicts.violated(job.text(), fmt::format("{} has no {} in its spec any more, and {} is left",
                                                job.text(), type_name(type), left));
  }
  return any;
}

bool owned(const Sight& sight, Verdicts& verdicts) {
  if (!deletion_asked(*sight.record, operator_actor)) return false;
  if (sight.job != nullptr) return true;
  const Object& object = *sight.record->before;
  verdicts.violated(name_of(object), fmt::format("the operator deleted {}, which is not of a job "
                                                 "that exists",
                                                 name_of(object)));
  return true;
}

bool needless_deletion(const Sight& sight, Verdicts& verdicts) {
  if (!deletion_asked(*sight.record, operator_actor) || sight.job == nullptr) return false;
  const JobFacts& job = *sight.job;
  const PodFacts& pod = *sight.pod;
  if (pod.type < 0 || pod.is("Failed") || job.finished() || job.suspend_seen) return true;
  const int wanted = job.types[static_cast<std::size_t>(pod.type)].wanted_min;
  if (pod.index >= wanted || limit_reached(job, sight.now)) return true;
  // Upstream deletes by name: a pass that still sees the failed pod hits the one in its place.
  constexpr Duration stale = std::chrono::seconds(5);
  if (replica_of(pod)->after_failed && sight.now < pod.created_at + stale) return true;
  verdicts.violated(name_of(*pod.last),
                    fmt::format("the operator deleted {}, which is {} and wanted",
                                name_of(*pod.last), pod.last->status.phase));
  return true;
}

bool backoff_limit(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr) return false;
  const JobFacts& job = *sight.job;
  constexpr Duration reaction =
      std::chrono::seconds(5);  // of the operator, to the last allowed one
  const auto& limit = job.last->spec->runPolicy.backoffLimit;
  if (!limit || job.restart_record != sight.record->id) return false;
  if (!job.budget_spent_at || job.finished() || sight.now <= *job.budget_spent_at + reaction)
    return true;
  std::string text = fmt::format(
      "{} was restarted {} times for failures of its own, with "
      "backoffLimit {}",
      job.text(), job.replaced + job.restarts, *limit);
  if (job.disruption_count > 0)
    text += "; disruptions are not counted: " + job.disruptions_in_words();
  verdicts.violated(job.text(), std::move(text));
  return true;
}

bool disruptions(const Sight& sight, Verdicts& verdicts) {
  if (!became(sight, "Failed") || sight.job->disruption_count == 0) return false;
  const JobFacts& job = *sight.job;
  if (failed_by_itself(job, sight.now)) return true;
  verdicts.violated(job.text(),
                    fmt::format("{} is Failed, and nothing of its own had failed as often as its "
                                "policies allow: {}{}",
                                job.text(), job.disruptions_in_words(),
                                job.followed > 0 ? "; its other pods failed with that" : ""));
  return true;
}

bool backoff_limit_in_place(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  const auto& limit = job.last->spec->runPolicy.backoffLimit;
  if (!limit || !job.live() || job.finished() || job.suspended()) return false;
  if (job.blocked() || sight.facts.panicked()) return false;
  std::int64_t restarts = 0;
  for (const PodFacts* pod : job.pods) {
    const ReplicaSpec* spec = pod->type < 0 ? nullptr : job.spec_of(pod->type);
    if (spec != nullptr && spec->restartPolicy != "Never" && pod->is("Running"))
      restarts += pod->restarts;
  }
  if (restarts >= std::max(*limit, 1))
    verdicts.violated(
        job.text(), fmt::format("the Running pods of {} were restarted {} times, with backoffLimit "
                                "{}, and it has not failed",
                                job.text(), restarts, *limit));
  return true;
}

bool exit_code(const Sight& sight, Verdicts& verdicts) {
  if (sight.pod == nullptr || !sight.pod->killed || !is_change(sight)) return false;
  PodFacts& pod = *sight.pod;
  for (const auto* list :
       {&pod.last->status.containerStatuses, &pod.last->status.initContainerStatuses})
    for (const ContainerStatus& status : *list)
      if (const auto code = code_after_kill(pod, status); code && *code != killed_code)
        verdicts.violated(name_of(*pod.last),
                          fmt::format("{}/{} was killed with signal 9, and its status says exit "
                                      "code {}",
                                      name_of(*pod.last), status.name, *code));
  return true;
}

}  // namespace ddptwin::scenario::invariants
