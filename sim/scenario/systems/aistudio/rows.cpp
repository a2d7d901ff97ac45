// What AIStudio promises of its DDPTasks (spec/aistudio.md §9).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "objects/pod_phase.hpp"
#include "scenario/systems/aistudio/parts.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;

const DDPTaskStatus* status_of_task(const ObjectPtr& object) {
  if (object == nullptr) return nullptr;
  const auto& status = as<DDPTask>(*object)->status;
  return status ? &*status : nullptr;
}

// The status that the record has just brought; null: it brought none.
const DDPTaskStatus* task_now(const Sight& sight) {
  return sight.job == nullptr || sight.record == nullptr ? nullptr
                                                         : status_of_task(sight.record->after);
}

const DDPTaskStatus* task_before(const Sight& sight) {
  return is_change(sight) ? status_of_task(sight.record->before) : nullptr;
}

std::string_view variable_in(const Pod& pod, std::string_view name) {
  std::string_view value;
  if (pod.spec->containers.empty()) return value;
  for (const EnvVar& one : pod.spec->containers.front().env)
    if (one.name == name) value = one.value;
  return value;
}

// The code of the entry command, where it has ended.
std::optional<int> entry_code(const Pod& pod) {
  for (const ContainerStatus& one : pod.status.containerStatuses)
    if (one.name == "worker" && one.state.terminated) return one.state.terminated->exitCode;
  return std::nullopt;
}

// Of a pod that ends before its containers began the kubelet says that they ended, and that it does
// not know how (spec/kubernetes.md §2.2).
bool entry_has_begun(const Pod& pod) {
  for (const ContainerStatus& one : pod.status.containerStatuses) {
    if (one.name != "worker") continue;
    const auto& end = one.state.terminated;
    return one.state.running || (end && end->reason != "ContainerStatusUnknown");
  }
  return false;
}

bool task_is_over(std::string_view phase) {
  return phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
}

// A-INV-1, A-INV-9.
bool verdict_by_codes(const Sight& sight, Verdicts& verdicts) {
  const DDPTaskStatus *now = task_now(sight), *was = task_before(sight);
  if (now == nullptr || now->phase != "Succeeded" || (was != nullptr && was->phase == now->phase))
    return false;
  const JobFacts& job = *sight.job;
  int ended = 0;
  for (const PodFacts* pod : job.pods) {
    const auto code = entry_code(*pod->last);
    if (code == 0) ++ended;
    if (code && *code != 0)
      verdicts.violated(job.text(), fmt::format("{} is Succeeded, and {} ended with {}", job.text(),
                                                name_of(*pod->last), *code));
  }
  if (ended < job.wanted())
    verdicts.violated(job.text(), fmt::format("{} is Succeeded, and {} of {} workers ended with 0",
                                              job.text(), ended, job.wanted()));
  return true;
}

// A-INV-2. At rest, where nobody has disturbed the controller.
bool failure_fails(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || sight.facts.disturbed() || job.last == nullptr) return false;
  const DDPTaskStatus* status = status_of_task(job.last);
  if (status == nullptr) return false;
  bool judged = false;
  for (const PodFacts* pod : job.pods) {
    const auto code = entry_code(*pod->last);
    if (!code || *code == 0 || pod->terminating()) continue;
    judged = true;
    if (!task_is_over(status->phase))
      verdicts.violated(job.text(),
                        fmt::format("{} ended with {}, and {} is {}", name_of(*pod->last), *code,
                                    job.text(), status->phase));
  }
  return judged;
}

// A-INV-3.
bool ranks_and_address(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || !is_new_pod(sight)) return false;
  const PodFacts& pod = *sight.pod;
  const std::string name = name_of(*pod.last);
  if (variable_in(*pod.last, "RANK") != std::to_string(pod.index))
    verdicts.violated(name, fmt::format("{} is worker {} and has RANK {}", name, pod.index,
                                        variable_in(*pod.last, "RANK")));
  if (variable_in(*pod.last, "WORLD_SIZE") != std::to_string(sight.job->wanted()))
    verdicts.violated(name, fmt::format("{} is one of {} workers and has WORLD_SIZE {}", name,
                                        sight.job->wanted(), variable_in(*pod.last, "WORLD_SIZE")));
  const std::string_view address = variable_in(*pod.last, "MASTER_ADDR");
  if (pod.index == 0 && address != pod.last->metadata.name.view())
    verdicts.violated(name, fmt::format("{} is worker 0, and MASTER_ADDR is {}", name, address));
  for (const PodFacts* other : sight.job->pods)
    for (const char* variable : {"MASTER_ADDR", "MASTER_PORT"})
      if (variable_in(*other->last, variable) != variable_in(*pod.last, variable))
        verdicts.violated(name, fmt::format("{} and {} have different {}", name,
                                            name_of(*other->last), variable));
  return true;
}

// A-INV-4. The check of each worker is over, and well, before any entry command begins.
bool starts_after_check(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record == nullptr || sight.pod == nullptr) return false;
  const Pod* now = sight.record->after ? as<Pod>(*sight.record->after) : nullptr;
  const Pod* was = sight.record->before ? as<Pod>(*sight.record->before) : nullptr;
  if (now == nullptr || !entry_has_begun(*now) || (was != nullptr && entry_has_begun(*was)))
    return false;
  const auto& status = as<DDPTask>(*sight.job->last)->status;
  if (status && status->selfCheck.state == "Failed")
    verdicts.violated(name_of(*now), fmt::format("the entry command of {} began, and the check of "
                                                 "{} has failed",
                                                 name_of(*now), sight.job->text()));
  int there = 0;
  for (const PodFacts* pod : sight.job->pods) there += pod->last->spec->nodeName.empty() ? 0 : 1;
  if (there < sight.job->wanted())
    verdicts.violated(name_of(*now), fmt::format("the entry command of {} began, and {} of {} "
                                                 "workers have a node",
                                                 name_of(*now), there, sight.job->wanted()));
  return true;
}

// A-INV-5, A-INV-7.
bool attempts_are_few(const Sight& sight, Verdicts& verdicts) {
  const DDPTaskStatus *now = task_now(sight), *was = task_before(sight);
  if (now == nullptr) return false;
  const DDPTaskFaultTolerance& said = as<DDPTask>(*sight.record->after)->spec->faultTolerance;
  const int most = said.enabled ? said.maxRetries.value_or(0) : 0;
  if (now->attempt > most)
    verdicts.violated(sight.job->text(), fmt::format("{} is at attempt {}, and its maxRetries are "
                                                     "{}",
                                                     sight.job->text(), now->attempt, most));
  const int before = was == nullptr ? 0 : was->attempt;
  if (now->attempt < before || now->attempt > before + 1)
    verdicts.violated(sight.job->text(), fmt::format("the attempt of {} went from {} to {}",
                                                     sight.job->text(), before, now->attempt));
  return true;
}

struct TaskPassage {
  std::string_view from, to;
};
// §5; what is not over may fail or be stopped, and a retry begins anew.
constexpr std::array task_passages{TaskPassage{"", "Queued"},
                                   TaskPassage{"", "Creating"},
                                   TaskPassage{"Queued", "Creating"},
                                   TaskPassage{"Queued", "SelfChecking"},
                                   TaskPassage{"Queued", "Running"},
                                   TaskPassage{"Creating", "SelfChecking"},
                                   TaskPassage{"Creating", "Running"},
                                   TaskPassage{"SelfChecking", "Running"},
                                   TaskPassage{"Running", "Succeeded"},
                                   TaskPassage{"Running", "Debugging"},
                                   TaskPassage{"Debugging", "Running"},
                                   TaskPassage{"Debugging", "Succeeded"},
                                   TaskPassage{"SelfChecking", "Succeeded"},
                                   TaskPassage{"Creating", "Succeeded"},
                                   TaskPassage{"Queued", "Succeeded"}};

// A-INV-6.
bool phases_go_on(const Sight& sight, Verdicts& verdicts) {
  const DDPTaskStatus *now = task_now(sight), *was = task_before(sight);
  if (now == nullptr) return false;
  const std::string_view from = was == nullptr ? "" : std::string_view(was->phase);
  if (from == now->phase) return false;
  const bool retries = was != nullptr && now->attempt > was->attempt && now->phase == "Queued";
  const bool ends = now->phase == "Failed" || now->phase == "Stopped";
  const bool known = std::any_of(task_passages.begin(), task_passages.end(), [&](const auto& one) {
    return one.from == from && one.to == now->phase;
  });
  if (task_is_over(from) || !(known || retries || ends))
    verdicts.violated(sight.job->text(), fmt::format("the phase of {} went from {} to {}",
                                                     sight.job->text(), from, now->phase));
  return true;
}

bool leaves_none_running(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!has_settled(sight) || sight.facts.disturbed() || job.last == nullptr) return false;
  const DDPTaskStatus* status = status_of_task(job.last);
  if (status == nullptr || !task_is_over(status->phase)) return false;
  for (const PodFacts* pod : job.pods)
    if (!is_terminal_phase(pod->last->status.phase) && !pod->terminating())
      verdicts.violated(job.text(),
                        fmt::format("{} is {}, and {} is still {}", job.text(), status->phase,
                                    name_of(*pod->last), pod->last->status.phase.view()));
  return true;
}

// Rule 2: the message names who failed first, and stays.
bool tells_who(const Sight& sight, Verdicts& verdicts) {
  const DDPTaskStatus *now = task_now(sight), *was = task_before(sight);
  if (now == nullptr || !task_is_over(now->phase)) return false;
  if (now->message.empty() || now->reason.empty())
    verdicts.violated(sight.job->text(),
                      fmt::format("{} is {}, and does not say why", sight.job->text(), now->phase));
  if (was != nullptr && task_is_over(was->phase) && was->message != now->message)
    verdicts.violated(sight.job->text(), fmt::format("{} is {}, and says now: {}",
                                                     sight.job->text(), was->phase, now->message));
  return true;
}

constexpr std::uint32_t task_topics = topics(Topic::job), task_pod_topics = topics(Topic::pod),
                        task_no_topics = 0;

constexpr std::array aistudio_promises{
    InvariantRow{"aistudio-verdict", "A-INV-1, A-INV-9",
                 "A task has Succeeded when every worker's entry command ended with 0.",
                 "By exit codes alone, whatever logs say.", "", false, task_topics,
                 &verdict_by_codes, nullptr, nullptr},
    InvariantRow{"aistudio-failure", "A-INV-2",
                 "At rest a task with a worker that ended with another code is over.",
                 "Failed, or Stopped before.", "", false, task_no_topics, nullptr, &failure_fails,
                 nullptr},
    InvariantRow{"aistudio-ranks", "A-INV-3",
                 "RANK is the worker's index, WORLD_SIZE the number of workers, MASTER_ADDR the "
                 "name of worker 0.",
                 "The same address and port everywhere.", "", false, task_pod_topics,
                 &ranks_and_address, nullptr, nullptr},
    InvariantRow{"aistudio-check", "A-INV-4",
                 "No entry command begins before all workers are placed and the check is passed.",
                 "Or reported, where the task says so.", "", false, task_pod_topics,
                 &starts_after_check, nullptr, nullptr},
    InvariantRow{"aistudio-attempts", "A-INV-5, A-INV-7",
                 "Attempts are counted one by one, up to maxRetries.",
                 "Without fault tolerance there is but one.", "", false, task_topics,
                 &attempts_are_few, nullptr, nullptr},
    InvariantRow{"aistudio-phases", "A-INV-6", "A phase follows another as the life has them.",
                 "Nothing follows Succeeded, Failed or Stopped.", "", false, task_topics,
                 &phases_go_on, nullptr, nullptr},
    InvariantRow{"aistudio-none-runs", "A-INV-6", "At rest no pod of a task that is over runs.",
                 "The others get SIGTERM and 30 seconds.", "", false, task_no_topics, nullptr,
                 &leaves_none_running, nullptr},
    InvariantRow{
        "aistudio-says-why", "§5", "A task that is over says why, and says the same for ever.",
        "Later ends change nothing.", "", false, task_topics, &tells_who, nullptr, nullptr},
};

}  // namespace

std::span<const InvariantRow> aistudio_invariants() { return aistudio_promises; }

}  // namespace ddptwin::scenario
