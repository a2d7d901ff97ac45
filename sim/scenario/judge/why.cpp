#include "scenario/judge/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cluster/scheduler/scheduler.hpp"
#include "core/numbers.hpp"
#include "runtime/model/backend.hpp"
#include "scenario/judge/last_words.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/language/cures.hpp"
#include "scenario/systems/workloads.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {

using namespace std::chrono_literals;
namespace {

constexpr std::size_t lines_max = 10;  // of a log
constexpr std::size_t others_max = 4;  // troubles beside the culprit; pods that run still
constexpr std::size_t line_length_max = 300;
// So long after a job has failed what made it fail may still be told.
constexpr Duration told_after_end = std::chrono::seconds(5);
constexpr Time no_end{Duration::max()};

// Control characters of a container's output are none of a report's; what is long is cut, never
// within a character.
std::string clean(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (out.size() >= line_length_max && (byte & 0xC0U) != 0x80U) return out + "...";
    out += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  return out;
}

// One line: an Event's message may have several.
// What to change, where the words of a refusal do not say it.
std::string told(const Observer& observer, const Trouble& trouble) {
  const std::string_view cure = cure_of_denial(trouble.message);
  return clean(observer.troubles().line(trouble)) +
         (cure.empty() ? std::string() : fmt::format(" ({})", cure));
}

void add_log(std::span<const std::string> lines, std::vector<std::string>& to) {
  if (lines.size() > lines_max) lines = lines.last(lines_max);
  for (const std::string& line : lines) to.push_back("  | " + clean(line));
}

// What a container has printed; null: nothing.
const std::vector<std::string>* log_of(const Observer& observer, const Pod& pod,
                                       const std::string& container) {
  const auto log = observer.logs().find(fmt::format("{}/{}", key_of(pod.metadata), container));
  return log == observer.logs().end() || log->second.lines.empty() ? nullptr : &log->second.lines;
}

std::string last_line(const Observer& observer, const Pod& pod, const std::string& container) {
  const std::vector<std::string>* lines = log_of(observer, pod, container);
  if (lines == nullptr) return "it has printed nothing";
  return fmt::format("it printed last: \"{}\"", clean(lines->back()));
}

// A container that ends well is no trouble, and yet never Ready for long where it must not end.
std::string started_again(const Pod& pod, const ContainerStatus& status) {
  if (status.state.running || !runs_for_ever(pod)) return {};
  const auto& ended =
      status.state.terminated ? status.state.terminated : status.lastState->terminated;
  if (!ended || ended->exitCode != 0) return {};
  return fmt::format(
      ", container {} ended with exit 0 and is started again, {} times so far "
      "(restartPolicy Always)",
      status.name, status.restartCount);
}

// What a pod is at that has not ended and has no trouble.
std::string at_work(const Observer& observer, const Pod& pod) {
  std::string text = fmt::format("{} {}", short_name(pod),
                                 pod.status.phase.empty() ? "Pending" : pod.status.phase.str());
  if (pod.metadata.deletionTimestamp) return text + ", terminating";
  if (pod.spec->nodeName.empty() && pod.status.condition("PodScheduled") == nullptr)
    return text + (pod.spec->rest->schedulerName == Scheduler::name
                       ? std::string(", and the scheduler has not looked at it")
                       : fmt::format(", looked at by no scheduler: its schedulerName is {}",
                                     pod.spec->rest->schedulerName));
  const auto add = [&](const std::vector<ContainerStatus>& statuses, std::string_view what) {
    for (const ContainerStatus& status : statuses)
      if (status.state.running)
        text += fmt::format(", {}container {} runs still, {}", what, status.name,
                            last_line(observer, pod, status.name.str()));
  };
  add(*pod.status.initContainerStatuses, "init ");
  add(*pod.status.containerStatuses, "");
  for (const ContainerStatus& status : *pod.status.containerStatuses)
    if (status.state.waiting && status.state.waiting->reason == "ContainerCreating")
      text += fmt::format(", container {} waits: ContainerCreating", status.name);
    else
      text += started_again(pod, status);
  return text;
}

struct Family {
  SharedText root{};
  Time until = no_end;
  std::string decider{};  // the pod whose failure it failed by, where it is one pod's
};

std::string decider_of(const Object& object) {
  const JobKind* row = job_kind(object.kind());
  if (row == nullptr || row->failed_by == nullptr) return {};
  const std::string pod = row->failed_by(object);
  return pod.empty() ? pod : fmt::format("{}/{}", object.metadata.namespace_.view(), pod);
}

// The roots of the selected objects, each once. Of what has failed only what came before counts.
std::vector<Family> families_of(const Observer& observer, const Selection& of) {
  std::vector<Family> families;
  for (const SeenObject* seen : observer.select_ever(of)) {
    const SharedText root = observer.troubles().root_of(seen->last->metadata);
    const bool known = std::any_of(families.begin(), families.end(),
                                   [&](const Family& family) { return family.root == root; });
    if (!known) families.push_back({root, no_end, {}});
  }
  for (Family& family : families)
    for (const JobKind& kind : job_kinds())
      for (const auto& [key, seen] : observer.objects(kind.info()))
        if (seen.ended_at && seen.last->metadata.uid == family.root) {
          family.until = *seen.ended_at + told_after_end;
          family.decider = decider_of(*seen.last);
        }
  return families;
}

std::string with_object(const Trouble& trouble, const std::string& text) {
  return trouble.object + " " + text;
}

std::vector<const SeenObject*> pods_of_family(const Observer& observer, const SharedText& root) {
  std::vector<const SeenObject*> pods;
  for (const auto& [key, seen] : observer.objects(Pod::info()))
    if (observer.troubles().root_of(seen.last->metadata) == root) pods.push_back(&seen);
  return pods;
}

// Behind who ended because it had waited too long: who has run on since before that, and has said
// what. The one that did not come is among them, and tells of no failure.
std::string who_ran_on(const Observer& observer, const Family& family, const Trouble& culprit) {
  if (culprit.kind != Trouble::Kind::ended ||
      !tells_of_a_wait(telling_line(observer.troubles().log_of(culprit))))
    return {};
  std::string text;
  std::size_t more = 0;
  for (const SeenObject* seen : pods_of_family(observer, family.root)) {
    const Pod& pod = *as<Pod>(*seen->last);
    if (seen->gone || seen->ended_at || pod.metadata.uid == culprit.uid) continue;
    for (const ContainerStatus& status : *pod.status.containerStatuses) {
      const auto& running = status.state.running;
      if (!running || !running->startedAt || culprit.began < *running->startedAt + 1s) continue;
      if (++more > others_max) continue;
      text += fmt::format("; {} has run on since before that: {}", short_name(pod),
                          last_line(observer, pod, status.name.str()));
    }
  }
  if (more > others_max) text += fmt::format("; and {} more", more - others_max);
  return text;
}

// How long NCCL's watchdog lets a rank stand after a loss, at most.
Duration standing_most(const Pod& pod) {
  constexpr const model::NcclProfile& nccl = model::nccl_2;
  constexpr Duration rest = nccl.peer_loss.most + nccl.dump_signal.most + nccl.aborts.most;
  Duration wait = nccl.dump_wait_usual;
  for (const Container& container : pod.spec->containers)
    for (const EnvVar& variable : container.env)
      if (variable.name == nccl.dump_wait)
        if (const auto told = whole_number<std::int64_t>(variable.value))
          wait = std::chrono::milliseconds(*told);
  return nccl.dump_waits * wait + rest;
}

// Behind who ended: who stands in the collective that failed with it, and for how long yet.
std::string who_stands(const Observer& observer, const Family& family, const Trouble& culprit) {
  if (culprit.kind != Trouble::Kind::ended) return {};
  std::string text;
  std::size_t count = 0;
  Duration most{};
  for (const SeenObject* seen : pods_of_family(observer, family.root)) {
    const Pod& pod = *as<Pod>(*seen->last);
    if (seen->gone || seen->ended_at || pod.metadata.uid == culprit.uid) continue;
    for (const ContainerStatus& status : *pod.status.containerStatuses) {
      const auto* lines = log_of(observer, pod, status.name.str());
      if (!status.state.running || lines == nullptr || !tells_of_standing(lines->back())) continue;
      if (++count == 1) text = short_name(pod);
      most = std::max(most, standing_most(pod));
    }
  }
  if (count == 0) return {};
  if (count > 1) text += fmt::format(" and {} more", count - 1);
  return fmt::format(
      "; {} {} in the collective that failed with it, until NCCL's watchdog ends {}, "
      "up to {} after that",
      text, count > 1 ? "stand" : "stands", count > 1 ? "them" : "it", format_go_duration(most));
}

// The culprit at length, the others in a line each.
void add_troubles(const Observer& observer, const Family& family, Why& to) {
  const Troubles& troubles = observer.troubles();
  const Trouble* culprit = troubles.culprit(family.root, family.until, family.decider);
  if (culprit == nullptr) return;
  const std::string line = with_object(*culprit, told(observer, *culprit)) +
                           who_ran_on(observer, family, *culprit) +
                           who_stands(observer, family, *culprit);
  if (to.line.empty()) to.line = line;
  const auto log = troubles.log_of(*culprit);
  to.text.push_back(line + (log.empty() ? "" : "; its last lines:"));
  add_log(log, to.text);
  if (observer.on_host())
    if (const auto lack = lack_of_host(telling_line(log)); !lack.empty())
      to.text.emplace_back(lack);
  std::size_t more = 0;
  for (const Trouble* other : troubles.unsolved(family.root, family.until)) {
    if (other == culprit) continue;
    if (++more > others_max) continue;
    to.text.push_back("also " + with_object(*other, told(observer, *other)));
  }
  if (more > others_max) to.text.push_back(fmt::format("and {} more", more - others_max));
}

// All of its pods run, several, and none has printed a line: so ranks look that wait for one
// another (spec/ddp-semantics.md §1).
bool is_silent_group(const Observer& observer, const std::vector<const SeenObject*>& pods) {
  const auto is_silent = [&observer](const SeenObject* seen) {
    const Pod& pod = *as<Pod>(*seen->last);
    if (seen->gone || pod.status.phase != "Running") return false;
    const auto& containers = *pod.status.containerStatuses;
    return std::all_of(containers.begin(), containers.end(), [&](const ContainerStatus& one) {
      return one.restartCount == 0 && log_of(observer, pod, one.name.str()) == nullptr;
    });
  };
  return pods.size() > 1 && std::all_of(pods.begin(), pods.end(), is_silent);
}

// Nothing went wrong, and it is not done: what its pods do, those first that do not run yet.
void add_work(const Observer& observer, const Family& family, Why& to) {
  auto pods = pods_of_family(observer, family.root);
  std::stable_partition(pods.begin(), pods.end(), [](const SeenObject* seen) {
    return as<Pod>(*seen->last)->status.phase != "Running";
  });
  std::size_t more = 0;
  for (const SeenObject* seen : pods) {
    if (seen->gone || seen->ended_at || ++more > others_max) continue;
    to.text.push_back(at_work(observer, *as<Pod>(*seen->last)));
    if (to.line.empty()) to.line = to.text.back();
  }
  if (more > others_max) to.text.push_back(fmt::format("and {} more pods", more - others_max));
  if (is_silent_group(observer, pods))
    to.text.emplace_back(
        "ranks may wait for one another here: PyTorch says who is missing when its timeout is "
        "over, "
        "30m by default (--timeout 35m)");
  if (pods.empty()) {
    to.text.emplace_back("no pod of it was made");
    if (to.line.empty()) to.line = to.text.back();
  }
}

// The job that it made and that failed first; null: none has.
const SeenObject* first_failed_part(const Observer& observer, const Object& object) {
  const SeenObject* first = nullptr;
  for (const JobKind& kind : job_kinds())
    for (const auto& [key, seen] : observer.objects(kind.info())) {
      const OwnerReference* owner = seen.last->metadata.controller();
      const bool is_its = owner != nullptr && owner->uid == object.metadata.uid;
      if (!is_its || !seen.ended_at || outcome_of(*seen.last) != Outcome::failed) continue;
      if (first == nullptr || *seen.ended_at < *first->ended_at) first = &seen;
    }
  return first;
}

// " <- job/train-workers-0 Failed: Job has reached the specified backoff limit", for what a job
// made and failed of.
std::string told_parts(const Observer& observer, const Object& object) {
  std::string text;
  if (outcome_of(object) != Outcome::failed) return text;
  for (const SeenObject* part = first_failed_part(observer, object); part != nullptr;
       part = first_failed_part(observer, *part->last))
    text += fmt::format(" <- {} {}", short_name(*part->last), end_text(*part->last));
  return text;
}

// Another job or set made it, and tells of it.
bool is_part(const Observer& observer, const Object& object) {
  const OwnerReference* owner = object.metadata.controller();
  if (owner == nullptr) return false;
  const auto has_it = [&](const KindInfo& kind) {
    const auto& all = observer.objects(kind);
    return std::any_of(all.begin(), all.end(), [owner](const auto& one) {
      return one.second.last->metadata.uid == owner->uid;
    });
  };
  for (const JobKind& kind : job_kinds())
    if (has_it(kind.info())) return true;
  for (const StandingKind& kind : standing_kinds())
    if (has_it(kind.info())) return true;
  return false;
}

// Why the success of a job is none, where its system can tell by the logs of its pods.
std::string told_doubt(const Observer& observer, const Object& object) {
  const JobKind* row = job_kind(object.kind());
  if (row == nullptr || row->doubt == nullptr || !has_succeeded(object)) return {};
  std::vector<const std::vector<std::string>*> logs;
  for (const SeenObject* pod :
       pods_of_family(observer, observer.troubles().root_of(object.metadata)))
    for (const Container& container : as<Pod>(*pod->last)->spec->containers)
      if (const auto* log = log_of(observer, *as<Pod>(*pod->last), container.name))
        logs.push_back(log);
  return row->doubt(object, logs);
}

bool has_pods(const KindInfo& kind) { return &kind == &Pod::info() || is_workload(kind); }

}  // namespace

Why why(const Observer& observer, const Selection& of) {
  Why found;
  if (!has_pods(*of.kind)) return found;
  const auto families = families_of(observer, of);
  for (const Family& family : families) add_troubles(observer, family, found);
  if (!found.text.empty()) return found;
  for (const Family& family : families)
    if (family.until == no_end) add_work(observer, family, found);
  if (of.kind == &Pod::info()) found.line.clear();  // who describes the pods has said it
  return found;
}

std::optional<Time> told_until(const Observer& observer, const Selection& of, Time now) {
  if (!has_pods(*of.kind)) return std::nullopt;
  for (const Family& family : families_of(observer, of)) {
    if (family.until == no_end || now >= family.until) continue;
    const Trouble* culprit = observer.troubles().culprit(family.root, family.until, family.decider);
    const auto pods = pods_of_family(observer, family.root);
    const bool runs_yet = std::any_of(pods.begin(), pods.end(), [](const SeenObject* seen) {
      return !seen->gone && !seen->ended_at && as<Pod>(*seen->last)->status.phase == "Running";
    });
    if (culprit != nullptr && runs_yet && observer.troubles().is_consequence(*culprit))
      return family.until;
  }
  return std::nullopt;
}

std::string told_end(const Observer& observer, const SeenObject& seen) {
  const Object& object = *seen.last;
  std::string text = short_name(object);
  if (const std::string_view state = observer.told_state(object); !state.empty())
    text += fmt::format(" {},", state);
  text += " " + end_text(object) + told_parts(observer, object);
  if (seen.gone && !seen.ended_at) text += ", gone";
  if (has_succeeded(object)) {
    const std::string doubt = told_doubt(observer, object);
    return doubt.empty() ? text : fmt::format("{}: {}", text, doubt);
  }
  const Troubles& troubles = observer.troubles();
  const Family family{troubles.root_of(object.metadata),
                      seen.ended_at ? *seen.ended_at + told_after_end : no_end, decider_of(object)};
  const Trouble* culprit = troubles.culprit(family.root, family.until, family.decider);
  if (culprit == nullptr) {
    if (seen.gone || seen.ended_at) return text;
    Why found;
    add_work(observer, family, found);
    return found.line.empty() ? text : text + ": " + found.line;
  }
  const std::string line = told(observer, *culprit) + who_ran_on(observer, family, *culprit) +
                           who_stands(observer, family, *culprit);
  const bool is_alone =
      pods_of_family(observer, family.root).size() <= 1 || culprit->uid == object.metadata.uid;
  return text + ": " + (is_alone ? line : with_object(*culprit, line));
}

std::vector<std::string> told_ends(const Observer& observer) {
  std::vector<std::string> bad, good;
  const auto add = [&](const SeenObject& seen) {
    const bool is_good = has_succeeded(*seen.last) && told_doubt(observer, *seen.last).empty();
    (is_good ? good : bad).push_back(told_end(observer, seen));
  };
  for (const JobKind& kind : job_kinds())
    for (const auto& [key, seen] : observer.objects(kind.info()))
      if (!is_part(observer, *seen.last)) add(seen);
  for (const StandingKind& kind : standing_kinds())
    for (const auto& [key, seen] : observer.objects(kind.info()))
      if (!is_part(observer, *seen.last)) add(seen);
  for (const auto& [key, seen] : observer.objects(Pod::info()))
    if (seen.last->metadata.controller() == nullptr) add(seen);
  std::move(good.begin(), good.end(), std::back_inserter(bad));
  return bad;
}

}  // namespace ddptwin::scenario
