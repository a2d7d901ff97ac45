#include "scenario/invariants/standstill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/time.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

// What keeps a replica where it is. The order is the one in which they are told.
enum class Hold : std::uint8_t {
  missing,    // it has no pod
  leaving,    // its pod is to go and is still there
  unplaced,   // no node has it
  untaken,    // its node's kubelet says nothing about it
  unknown,    // its node is silent
  failed,     // its pod has Failed, and nobody makes another
  stopped,    // a container was stopped by a signal
  refused,    // a container cannot start
  creating,   // nor is one made
  lingers,    // the main container has ended, and another keeps the pod
  crashes,    // a container ends again and again
  pulling,    // its node fetches an image
  preparing,  // an init container of the user's runs
  waits,      // the operator's own init container looks for the Master
  runs,
  done,
  count
};

// How long a job may stand still for it.
enum class Patience : std::uint8_t {
  none,    // `progress_within`, whatever the others do
  queue,   // as long as another job goes on, for that one may have the place
  tries,   // `silence_within`: a peer may wait for the lost one that long before it begins anew
  starts,  // `silence_within`, whatever the others do: they wait for it
  others,  // `silence_within` where nobody else holds the job up
};

struct Found {
  Hold hold = Hold::runs;
  const PodFacts* pod = nullptr;            // null: missing
  const ContainerStatus* status = nullptr;  // of the container that it is about
  int type = 0, index = 0;
};

std::string_view main_container(const PodFacts& pod) {
  return invariants::main_container(*pod.last, *pod.job->reader);
}

const ContainerStatus* status_named(const std::vector<ContainerStatus>& statuses,
                                    std::string_view name) {
  for (const ContainerStatus& one : statuses)
    if (one.name == name) return &one;
  return nullptr;
}

// Words of a state that a container passes through on its way.
bool is_on_its_way(const ContainerStateWaiting& waiting) {
  return waiting.reason.empty() || waiting.reason == "ContainerCreating" ||
         waiting.reason == "PodInitializing";
}

Hold hold_of_waiting(const PodFacts& pod, const ContainerStatus& one) {
  if (one.lastState->terminated && one.restartCount > 0) return Hold::crashes;
  if (one.state.waiting && !is_on_its_way(*one.state.waiting)) return Hold::refused;
  return pod.pulls ? Hold::pulling : Hold::creating;
}

bool is_sidecar_named(const PodSpec& spec, std::string_view name) {
  for (const Container& one : spec.initContainers)
    if (one.name == name) return one.restartPolicy == "Always";
  return false;
}

// The first init container that is not over yet.
Found held_by_init(const PodFacts& pod, Found found) {
  for (const ContainerStatus& one : pod.last->status.initContainerStatuses) {
    if (one.state.terminated && one.state.terminated->exitCode == 0) continue;
    if (one.state.running && is_sidecar_named(*pod.last->spec, one.name)) continue;
    found.status = &one;
    if (one.state.terminated)
      found.hold = Hold::crashes;
    else if (!one.state.running)
      found.hold = hold_of_waiting(pod, one);
    else
      found.hold = one.name == pod.job->reader->waiting_container ? Hold::waits : Hold::preparing;
    return found;
  }
  return found;
}

Found held_by_main(const PodFacts& pod, Found found) {
  const auto& statuses = *pod.last->status.containerStatuses;
  found.status = status_named(statuses, main_container(pod));
  if (found.status == nullptr) {
    if (!pod.is("Running")) found.hold = pod.pulls ? Hold::pulling : Hold::creating;
    return found;
  }
  const auto runs = [](const ContainerStatus& one) { return one.state.running.has_value(); };
  if (found.status->state.terminated)
    found.hold =
        std::any_of(statuses.begin(), statuses.end(), runs) ? Hold::lingers : Hold::crashes;
  else if (!found.status->state.running)
    found.hold = hold_of_waiting(pod, *found.status);
  return found;
}

Found find_hold(const PodFacts& pod) {
  Found found{Hold::runs, &pod, nullptr, pod.type, pod.index};
  const PodStatus& status = pod.last->status;
  const auto is = [&found](Hold hold) {
    found.hold = hold;
    return found;
  };
  if (pod.terminating()) return is(Hold::leaving);
  if (pod.is("Succeeded")) return is(Hold::done);
  if (pod.is("Failed")) return is(Hold::failed);
  if (pod.is("Unknown")) return is(Hold::unknown);
  for (const PodFacts::ContainerFacts& one : pod.containers)
    if (one.stopped_by != 0) return is(Hold::stopped);
  const bool told = !status.containerStatuses->empty() || !status.initContainerStatuses->empty();
  if (!told && pod.is("Pending"))
    return is(pod.last->spec->nodeName.empty() ? Hold::unplaced : Hold::untaken);
  found = held_by_init(pod, found);
  return found.status != nullptr ? found : held_by_main(pod, found);
}

// Of every replica that the spec wants.
std::vector<Found> holds_of(const JobFacts& job) {
  std::vector<Found> all;
  for (int type = 0; type < job.type_count(); ++type) {
    const auto& replicas = job.type(type).replicas;
    for (int index = 0; index < job.wanted(type); ++index) {
      const auto at = static_cast<std::size_t>(index);
      if (at >= replicas.size() || replicas[at].pods.empty())
        all.push_back({Hold::missing, nullptr, nullptr, type, index});
      else
        all.push_back(find_hold(*replicas[at].pods.back()));
    }
  }
  return all;
}

// ---- in words ----------------------------------------------------------------------------------

std::string last_warning(const std::shared_ptr<const Event>& warning) {
  return warning == nullptr ? std::string()
                            : fmt::format(": {}: {}", warning->reason, warning->message);
}

std::string for_long(Time since, Time now) { return format_go_duration(now - since); }

std::string say_missing(const Found&, const JobFacts& job, Time) {
  if (!job.handled) return "the operator has not looked at the job";
  return fmt::format("the operator {}, and has made no pod for it{}",
                     job.invalid ? "finds the job invalid" : "has looked at the job",
                     last_warning(job.warning));
}

std::string say_leaving(const Found& found, const JobFacts&, Time now) {
  const PodFacts& pod = *found.pod;
  return fmt::format("was deleted by {} {} ago and is still there, on {}", pod.deleted_by,
                     for_long(pod.terminating_since, now),
                     pod.last->spec->nodeName.empty() ? "no node" : pod.last->spec->nodeName);
}

std::string say_unplaced(const Found& found, const JobFacts&, Time) {
  const Pod& pod = *found.pod->last;
  const PodCondition* scheduled = pod.status.condition("PodScheduled");
  if (scheduled != nullptr && !scheduled->message.empty())
    return fmt::format("waits for a node: {}: {}", scheduled->reason, scheduled->message);
  return fmt::format("waits for the scheduler {}, which says nothing about it",
                     pod.spec->rest->schedulerName);
}

std::string say_untaken(const Found& found, const JobFacts&, Time) {
  return fmt::format("waits for the kubelet of {}, which says nothing about it{}",
                     found.pod->last->spec->nodeName, last_warning(found.pod->warning));
}

std::string say_unknown(const Found& found, const JobFacts&, Time) {
  return fmt::format("is Unknown: its node {} says nothing", found.pod->last->spec->nodeName);
}

std::string say_failed(const Found& found, const JobFacts&, Time) {
  const auto& rest = *found.pod->last->status.rest;
  return fmt::format("has Failed{}{}{}{}, and is not made anew", rest.reason.empty() ? "" : " (",
                     rest.reason.view(), rest.reason.empty() ? "" : "): ", rest.message.view());
}

std::string say_stopped(const Found& found, const JobFacts&, Time now) {
  for (const PodFacts::ContainerFacts& one : found.pod->containers)
    if (one.stopped_by != 0)
      return fmt::format("container {} was stopped by signal {} {} ago, and nobody lets it go on",
                         one.name, one.stopped_by, for_long(one.stopped_at, now));
  return {};
}

std::string end_in_words(const ContainerStateTerminated& end) {
  return fmt::format("exit {}{}{}{}", end.exitCode, end.reason.empty() ? "" : " (",
                     end.reason.empty() ? "" : end.reason.view(), end.reason.empty() ? "" : ")");
}

std::string say_refused(const Found& found, const JobFacts&, Time) {
  const ContainerStatus& one = *found.status;
  std::string text = fmt::format("container {} ", one.name);
  if (one.state.waiting)
    text += fmt::format("waits: {}{}{}", one.state.waiting->reason,
                        one.state.waiting->message.empty() ? "" : ": ", one.state.waiting->message);
  else if (one.state.terminated)
    text += "ended with " + end_in_words(*one.state.terminated);
  if (one.restartCount > 0) text += fmt::format(", restarted {} times", one.restartCount);
  if (one.lastState->terminated) text += ", last with " + end_in_words(*one.lastState->terminated);
  return text;
}

std::string say_creating(const Found& found, const JobFacts&, Time) {
  return fmt::format("its containers are not made{}", last_warning(found.pod->warning));
}

std::string say_lingers(const Found& found, const JobFacts&, Time) {
  std::string others;
  for (const ContainerStatus& one : found.pod->last->status.containerStatuses)
    if (one.state.running) others += fmt::format("{}{}", others.empty() ? "" : ", ", one.name);
  return fmt::format("container {} ended with {}, and the pod goes on for as long as {} runs",
                     found.status->name, end_in_words(*found.status->state.terminated), others);
}

std::string say_pulling(const Found&, const JobFacts&, Time) { return "waits for its image"; }

std::string last_words(const Found& found, std::string_view container) {
  for (const PodFacts::ContainerFacts& one : found.pod->containers)
    if (one.name == container && !one.last_line.empty())
      return fmt::format(", its last words: \"{}\"", one.last_line);
  return {};
}

std::string say_preparing(const Found& found, const JobFacts&, Time) {
  return fmt::format("init container {} does not end{}", found.status->name,
                     last_words(found, found.status->name));
}

std::string say_waits(const Found& found, const JobFacts&, Time) {
  return fmt::format("init container {} does not find the Master's name{}", found.status->name,
                     last_words(found, found.status->name));
}

std::string say_runs(const Found& found, const JobFacts& job, Time) {
  const PodFacts& pod = *found.pod;
  std::string text = "runs";
  if (pod.restarts > 0) text += fmt::format(", restarted {} times", pod.restarts);
  if (pod.ranks.empty() && job.steps > 0) return text + ", and has not joined the others";
  if (!pod.ranks.empty())
    return text + fmt::format(", and waits after step {}", pod.ranks.front().step);
  return text + ", and says nothing" + last_words(found, main_container(pod));
}

std::string say_done(const Found&, const JobFacts&, Time) { return "has Succeeded"; }

struct HoldRow {
  Hold hold;
  Patience patience;
  std::string (*say)(const Found& found, const JobFacts& job, Time now);
};
constexpr std::array hold_rows{
    HoldRow{Hold::missing, Patience::none, &say_missing},
    HoldRow{Hold::leaving, Patience::none, &say_leaving},
    HoldRow{Hold::unplaced, Patience::queue, &say_unplaced},
    HoldRow{Hold::untaken, Patience::none, &say_untaken},
    HoldRow{Hold::unknown, Patience::none, &say_unknown},
    HoldRow{Hold::failed, Patience::none, &say_failed},
    HoldRow{Hold::stopped, Patience::none, &say_stopped},
    HoldRow{Hold::refused, Patience::none, &say_refused},
    HoldRow{Hold::creating, Patience::none, &say_creating},
    HoldRow{Hold::lingers, Patience::none, &say_lingers},
    HoldRow{Hold::crashes, Patience::tries, &say_refused},
    HoldRow{Hold::pulling, Patience::starts, &say_pulling},
    HoldRow{Hold::preparing, Patience::starts, &say_preparing},
    HoldRow{Hold::waits, Patience::others, &say_waits},
    HoldRow{Hold::runs, Patience::others, &say_runs},
    HoldRow{Hold::done, Patience::others, &say_done},
};
static_assert(hold_rows.size() == static_cast<std::size_t>(Hold::count));
const HoldRow& row_of_hold(Hold hold) { return hold_rows[static_cast<std::size_t>(hold)]; }

bool any_held(const std::vector<Found>& holds, Patience patience) {
  return std::any_of(holds.begin(), holds.end(), [patience](const Found& one) {
    return row_of_hold(one.hold).patience == patience;
  });
}

// The job's own pace: a step that takes three times as long as the longest so far is one too many.
Duration silence_of(const JobFacts& job) {
  constexpr int pauses = 3;
  return std::max(silence_within, pauses * job.pause_max);
}

}  // namespace

bool can_stand_still(const JobFacts& job, const Facts&) {
  if (job.gone || job.finished() || job.suspended() || job.last->metadata.deletionTimestamp)
    return false;
  if (job.wanted() < 1 || job.traits.endless) return false;
  return !job.traits.of_others && !has_failed_for_good(job);
}

Time stands_still_at(const JobFacts& job, const Facts& facts) {
  // What somebody does to it may take its time, but not put the end off for ever.
  const Time moved = std::max(job.progress_at, facts.healed_at());
  const Time last = std::max(moved, std::min(job.pushed_at, moved + silence_within));
  if (const auto& bound = facts.progress_within_of_policy()) return last + *bound;
  const std::vector<Found> holds = holds_of(job);
  if (any_held(holds, Patience::starts)) return last + silence_within;
  if (any_held(holds, Patience::none)) return last + progress_within;
  if (any_held(holds, Patience::queue)) {
    const Facts::Others others = facts.others(job);
    return others.unfinished ? std::max(last + progress_within, others.moved_at + silence_within)
                             : std::max(last, others.moved_at) + progress_within;
  }
  const bool tries = any_held(holds, Patience::tries) || job.attempts >= attempts_many;
  return last + (tries ? silence_within : silence_of(job));
}

std::string since_when(const JobFacts& job) {
  std::string text;
  switch (job.progress) {
    case Advance::applied:
      text = "since it was applied";
      break;
    case Advance::spec:
      text = "since its spec was changed";
      break;
    case Advance::pod:
      text = "since a pod of it last came further";
      break;
    case Advance::line:
      text = "since it last printed something new";
      break;
    case Advance::step:
      text = fmt::format("since step {} of {}", job.step_max, job.steps);
      break;
    case Advance::repeated_step:
      text = fmt::format("since it did step {} again, of {} that it has done", job.repeated_max,
                         job.step_max);
      break;
    case Advance::checkpoint:
      text = fmt::format("since the checkpoint of step {}", job.checkpoint);
      break;
  }
  if (job.steps > 0 && job.progress == Advance::pod)
    text += fmt::format(" (step {} of {} was done)", job.step_max, job.steps);
  if (job.attempts > 0) text += fmt::format(", with {} restarts since", job.attempts);
  return text;
}

std::string who_waits(const JobFacts& job, const Facts&, Time now) {
  constexpr std::size_t told_max = 4;
  std::vector<Found> holds = holds_of(job);
  std::stable_sort(holds.begin(), holds.end(),
                   [](const Found& a, const Found& b) { return a.hold < b.hold; });
  std::string text;
  for (std::size_t i = 0; i < std::min(holds.size(), told_max); ++i) {
    const Found& one = holds[i];
    const std::string name =
        one.pod != nullptr ? name_of(*one.pod->last) : job.replica_text(one.type, one.index) + ":";
    text +=
        fmt::format("{}{} {}", i == 0 ? "" : "; ", name, row_of_hold(one.hold).say(one, job, now));
  }
  if (holds.size() > told_max) text += fmt::format("; and {} more", holds.size() - told_max);
  return text;
}

}  // namespace ddptwin::scenario::invariants
