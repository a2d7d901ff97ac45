// Invariants about the pods of a job: how many, which, in what order, with what environment, and
// why one is taken away.
#include <fmt/format.h>

#include <algorithm>

#include "objects/pod_phase.hpp"
#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

bool has_ended(const PodFacts& pod) { return is_terminal_phase(pod.last->status.phase); }

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

bool is_new_pod(const Sight& sight) {
  return sight.record->kind == RecordKind::object_added && sight.pod != nullptr &&
         sight.pod->type >= 0 && sight.record->actor == sight.job->reader->pods_by;
}

bool judge_world(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || !job.traits.tells_world) return false;
  for (const PodFacts* pod : job.pods) {
    if (pod->terminating() || has_ended(*pod) || pod->world_size == job.worlds.back()) continue;
    verdicts.violated(job.text(),
                      fmt::format("{} has WORLD_SIZE {}, and the job has {} processes",
                                  name_of(*pod->last), pod->world_size, job.worlds.back()));
    return true;
  }
  return true;
}

bool deletion_asked(const Record& record, std::string_view actor) {
  if (record.actor != actor || record.before == nullptr) return false;
  if (record.before->metadata.deletionTimestamp) return false;
  return record.after == nullptr || record.after->metadata.deletionTimestamp.has_value();
}

bool no_duplicates(const Sight& sight, Verdicts& verdicts) {
  if (sight.pod == nullptr || sight.job == nullptr || sight.pod->type < 0) return false;
  const ReplicaFacts& replica = sight.pod->replica();
  if (replica.pods.size() < 2) return true;
  const Workload::Group* spec = sight.job->spec_of(sight.pod->type);
  const bool may_overlap = spec != nullptr && spec->replaced_early;
  const auto live =
      std::count_if(replica.pods.begin(), replica.pods.end(), [may_overlap](const PodFacts* pod) {
        return !has_ended(*pod) && !(may_overlap && pod->terminating());
      });
  if (live > 1)
    verdicts.violated(sight.job->text(),
                      fmt::format("{} has {} live pods for {}", sight.job->text(), live,
                                  sight.job->replica_text(sight.pod->type, sight.pod->index)));
  return true;
}

bool distinct_ranks(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight) || !sight.job->traits.tells_rank || sight.pod->rank < 0) return false;
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

bool count(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || job.suspended() || job.blocked()) return false;
  if (sight.facts.panicked()) return false;
  const bool leaving = std::any_of(job.pods.begin(), job.pods.end(),
                                   [](const PodFacts* pod) { return pod->terminating(); });
  const bool refused = job.pods.empty() && job.warned > 0;  // "visible" judges it
  if (leaving || refused) return false;
  // What is forbidden stays out for as long as nobody allows it: that is not the operator's doing.
  std::size_t forbidden = job.forbidden_pods.size();
  for (int type = 0; type < job.type_count(); ++type) {
    // Of a type that was taken out of the spec others tell.
    if (job.spec_of(type) == nullptr || !job.spec_of(type)->full_at_rest) continue;
    const auto& replicas = job.type(type).replicas;
    const auto wanted = static_cast<std::size_t>(std::max(job.wanted(type), 0));
    for (std::size_t i = 0; i < std::max(wanted, replicas.size()); ++i) {
      const std::size_t pods = i < replicas.size() ? replicas[i].pods.size() : 0;
      if (pods == (i < wanted ? 1U : 0U)) continue;
      if (pods == 0 && forbidden > 0) {
        --forbidden;
        continue;
      }
      verdicts.violated(job.text(), fmt::format("{} wants {} {} and has {} pods of index {}",
                                                job.text(), wanted, job.type_text(type), pods, i));
      return true;
    }
  }
  return true;
}

bool owned(const Sight& sight, Verdicts& verdicts) {
  const std::string_view actor = sight.record->actor;
  if (!sight.facts.is_operator(actor) || !deletion_asked(*sight.record, actor)) return false;
  if (sight.job != nullptr) return true;
  const Object& object = *sight.record->before;
  verdicts.violated(name_of(object), fmt::format("the operator deleted {}, which is not of a job "
                                                 "that exists",
                                                 name_of(object)));
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
