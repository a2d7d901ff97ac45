// What the training operator promises of the pods of a job: their order, their environment, and why
// one is taken away.
#include <fmt/format.h>

#include <algorithm>

#include "core/numbers.hpp"
#include "scenario/systems/training_operator/judges.hpp"

namespace ddptwin::scenario::invariants::pytorchjob {
namespace {

std::string_view variable(const Pod& pod, std::string_view name) {
  std::string_view value;
  if (pod.spec->containers.empty()) return value;
  for (const EnvVar& one : pod.spec->containers.front().env)
    if (one.name == name) value = one.value;
  return value;
}

// Of a replica type that the spec no longer has: a pod, or a Service, or the status says of some
// that they run.
std::string remains_of(const JobFacts& job, int type) {
  for (const PodFacts* pod : job.pods)
    if (pod->type == type && !pod->terminating()) return name_of(*pod->last);
  for (const auto& [name, service] : job.services) {
    const Text* of = service.last->metadata.label(job.reader->group_label);
    if (of != nullptr && job.find_type(*of) == type) return name_of(*service.last);
  }
  const JobStatus* status = status_of(*job.last);
  if (status == nullptr || !status->replicaStatuses) return {};
  const auto found = status->replicaStatuses->find(job.type(type).name);
  const bool counts = found != status->replicaStatuses->end() && found->second.active > 0;
  return counts ? fmt::format("the status of {} active ones", found->second.active) : std::string();
}

// Its policies and limits explain its end without any disruption.
bool failed_by_itself(const JobFacts& job, Time now) {
  for (const TypeFacts& type : job.types) {
    if (type.spec == nullptr) continue;
    for (const ReplicaFacts& one : type.replicas) {
      // Policy Never asks for no second try, whatever ended the first.
      if (type.spec->restart == "Never" && one.failed) return true;
      if (type.spec->restart == "ExitCode" && one.own_permanent) return true;
    }
  }
  if (deadline_reached(job, now)) return true;
  const auto& limit = job.traits.backoff;
  if (!limit) return false;
  std::int64_t failures = job.replaced + job.restarts;
  for (const PodFacts* pod : job.pods)
    failures += pod->is("Failed") && !pod->disrupted && !pod->follows_disruption(now) ? 1 : 0;
  return *limit < 0 || failures >= std::max<std::int64_t>(*limit, 1);
}

}  // namespace

bool environment(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight) || !sight.job->traits.tells_rank) return false;
  const JobFacts& job = *sight.job;
  if (job.type(master).wanted_min < 1) return false;  // there was a time without a Master
  const PodFacts& pod = *sight.pod;
  const std::int64_t rank = pod.type == master ? pod.index : pod.index + 1;
  if (pod.rank != rank)
    verdicts.violated(name_of(*pod.last), fmt::format("{} has RANK {}, not {}", name_of(*pod.last),
                                                      variable(*pod.last, "RANK"), rank));
  // A pod may come from a spec that has just been changed.
  if (std::find(job.worlds.begin(), job.worlds.end(), pod.world_size) == job.worlds.end())
    verdicts.violated(
        name_of(*pod.last),
        fmt::format("{} has WORLD_SIZE {}, and the job has {} processes", name_of(*pod.last),
                    variable(*pod.last, "WORLD_SIZE"), job.worlds.back()));
  const std::string address = fmt::format("{}-master-0", job.last->metadata.name);
  if (variable(*pod.last, "MASTER_ADDR") != address)
    verdicts.violated(name_of(*pod.last),
                      fmt::format("{} has MASTER_ADDR {}, which is not {}", name_of(*pod.last),
                                  variable(*pod.last, "MASTER_ADDR"), address));
  return true;
}

bool world_agrees_after_scaling(const Sight& sight, Verdicts& verdicts) {
  return sight.job->worlds.size() > 1 && judge_world(sight, verdicts);
}

bool creation_order(const Sight& sight, Verdicts& verdicts) {
  const Record& record = *sight.record;
  if (record.kind != RecordKind::object_added || record.actor != operator_actor) return false;
  if (sight.job == nullptr) return false;
  const ObjectMeta& metadata = record.after->metadata;
  const int group = group_of(metadata, *sight.job), index = index_of(metadata, *sight.job->reader);
  if (group < 0 || index < 0) return false;
  const TypeFacts& type = sight.job->type(group);
  // A pod comes after those of lower indices, a Service after all pods of its type.
  const bool service = sight.pod == nullptr;
  const auto before = static_cast<std::size_t>(service ? std::max(type.wanted_min, 0) : index);
  for (std::size_t i = 0; i < before; ++i) {
    if (i < type.replicas.size() && type.replicas[i].created > 0) continue;
    verdicts.violated(name_of(*record.after),
                      fmt::format("{} was made before the pod of {} {}", name_of(*record.after),
                                  sight.job->type_text(group), i));
    return true;
  }
  return true;
}

bool type_removed(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || sight.facts.panicked()) return false;
  bool any = false;
  for (int type = 0; type < job.type_count(); ++type) {
    const TypeFacts& facts = job.type(type);
    if (facts.spec != nullptr || facts.wanted_max < 1) continue;
    any = true;
    std::string left = remains_of(job, type);
    if (!left.empty())
      verdicts.violated(job.text(), fmt::format("{} has no {} in its spec any more, and {} is left",
                                                job.text(), job.type_text(type), left));
  }
  return any;
}

bool needless_deletion(const Sight& sight, Verdicts& verdicts) {
  if (!deletion_asked(*sight.record, operator_actor) || sight.job == nullptr) return false;
  const JobFacts& job = *sight.job;
  const PodFacts& pod = *sight.pod;
  if (pod.type < 0 || pod.is("Failed") || job.finished() || job.suspend_seen) return true;
  const int wanted = job.type(pod.type).wanted_min;
  if (pod.index >= wanted || limit_reached(job, sight.now)) return true;
  // Upstream deletes by name: a pass that still sees the failed pod hits the one in its place.
  constexpr Duration stale = std::chrono::seconds(5);
  if (pod.replica().after_failed && sight.now < pod.created_at + stale) return true;
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
  const auto& limit = job.traits.backoff;
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
  if (!now_failed(sight) || sight.job->disruption_count == 0) return false;
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
  const auto& limit = job.traits.backoff;
  if (!limit || !job.live() || job.finished() || job.suspended()) return false;
  if (job.blocked() || sight.facts.panicked()) return false;
  std::int64_t restarts = 0;
  for (const PodFacts* pod : job.pods) {
    const Workload::Group* spec = pod->type < 0 ? nullptr : job.spec_of(pod->type);
    if (spec != nullptr && spec->restart != "Never" && pod->is("Running"))
      restarts += pod->restarts;
  }
  if (restarts >= std::max<std::int64_t>(*limit, 1))
    verdicts.violated(
        job.text(), fmt::format("the Running pods of {} were restarted {} times, with backoffLimit "
                                "{}, and it has not failed",
                                job.text(), restarts, *limit));
  return true;
}

bool owned_services(const Sight& sight, Verdicts& verdicts) {
  return sight.record->actor == operator_actor && owned(sight, verdicts);
}

}  // namespace ddptwin::scenario::invariants::pytorchjob
