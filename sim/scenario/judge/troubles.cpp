#include "scenario/judge/troubles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/concat.hpp"
#include "core/signals.hpp"
#include "objects/kinds.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/judge/last_words.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

using Kind = Trouble::Kind;

// A survivor may have ended so long before the one that it lost: a torchrun ends after its ranks.
constexpr Duration told_late = std::chrono::seconds(5);
// The end of a step may be printed so long after a peer of it has ended.
constexpr Duration step_told_late = std::chrono::seconds(2);

// A program that ends so long after a signal ended of it; a kubelet waits as long as a pod says.
constexpr Duration ends_of_it = std::chrono::seconds(5);

// Who ends a container whose pod is to end, or whose probe failed.
constexpr std::string_view stopped = "its kubelet";
// As whom a scenario's steps write.
constexpr std::string_view scenario_client = "user";

// Every container waits for these at first.
bool is_dull(std::string_view reason) {
  constexpr std::array<std::string_view, 4> dull{"", "ContainerCreating", "PodInitializing",
                                                 "CrashLoopBackOff"};
  return std::find(dull.begin(), dull.end(), reason) != dull.end();
}

// Warnings that say why a pod does not start, or why a controller does not make what it wants. The
// others repeat what the status says.
bool says_why(const Event& event) {
  constexpr std::array<std::string_view, 3> told_by_status{"FailedScheduling", "FailedKillPod",
                                                           "FailedPreStopHook"};
  const std::string_view reason = event.reason;
  if (std::find(told_by_status.begin(), told_by_status.end(), reason) != told_by_status.end())
    return false;
  return reason.starts_with("Failed") || reason.ends_with("FailedValidation") ||
         reason.ends_with("CreationFailed") || reason == "NetworkNotReady";
}

std::string_view signal_of(int exit_code) {
  constexpr int by_signal = 128;
  for (const SignalRow& row : signal_rows())
    if (row.number == exit_code - by_signal) return row.name;
  return {};
}

Trouble trouble_of(Kind kind, const Pod& pod, const SharedText& root, Time began) {
  Trouble made;
  made.kind = kind;
  made.object = short_name(pod);
  made.key = key_of(pod.metadata);
  made.uid = pod.metadata.uid;
  made.root = root;
  made.began = began;
  return made;
}

// "services default/mnist-master-0".
std::string owned_key(const Object& object) {
  return concat({object.kind().plural, " ", key_of(object.metadata)});
}

// What ended, as opposed to what never began.
bool is_end(const Trouble& trouble) { return trouble.kind <= Kind::removed; }

}  // namespace

SharedText Troubles::root_of(const ObjectMeta& metadata) const {
  const OwnerReference* owner = metadata.controller();
  SharedText root = owner != nullptr ? owner->uid : metadata.uid;
  for (auto above = owners_.find(root); above != owners_.end(); above = owners_.find(root))
    root = above->second;
  return root;
}

void Troubles::on_record(const Record& record) {
  switch (record.kind) {
    case RecordKind::container:
      return take_container(record);
    case RecordKind::fault:
      return take_fault(record);
    case RecordKind::object_added:
      if (const Pod* pod = as<Pod>(*record.after)) return add_pod(*pod, record.time);
      if (const Event* event = as<Event>(*record.after)) return take_warning(*event, record.time);
      if (record.after->metadata.controller() != nullptr) add_owned(*record.after, record.time);
      return;
    case RecordKind::object_modified:
      if (const Pod* pod = as<Pod>(*record.after))
        return change_pod(*as<Pod>(*record.before), *pod, record);
      if (const Event* event = as<Event>(*record.after)) take_warning(*event, record.time);
      return;
    case RecordKind::object_deleted:
      if (as<Pod>(*record.before) == nullptr) {
        if (record.before->metadata.controller() != nullptr)
          owned_.erase(owned_key(*record.before));
        return;
      }
      close(record.before->metadata.uid, {}, record.time);
      pods_.erase(record.before->metadata.uid);
      return;
    default:
      return;
  }
}

// ---- what happens ------------------------------------------------------------------------------

void Troubles::take_container(const Record& record) {
  const bool started = record.text == std::string_view("started");
  const bool exited = record.text == std::string_view("exited");
  if (!started && !exited && record.text != std::string_view("stop")) return;
  auto found = runs_.find(record.subject);
  if (found == runs_.end()) found = runs_.emplace(std::string(record.subject), Run{}).first;
  Run& run = found->second;
  if (exited) {
    const auto log = logs_.find(record.subject);
    run.exited = record.time;
    run.next_line = log != logs_.end() ? log->second.lines.size() : 0;
  } else if (started) {
    run.began = record.time;
    // A real program may have printed before its start is told.
    run.first_line = run.next_line;
    run.by.clear();
    if (run.trouble == no_trouble || troubles_[run.trouble].restarted) return;
    troubles_[run.trouble].restarted = record.time;
    troubles_[run.trouble].last_line = run.first_line;
  } else if (run.by.empty()) {
    run.by = stopped;
    run.by_at = record.time;
  }
}

void Troubles::take_fault(const Record& record) {
  const auto run = runs_.find(record.subject);
  if (run == runs_.end()) return;
  run->second.by = concat({"the scenario's ", record.text});
  run->second.by_at = record.time;
}

void Troubles::trained(std::string_view log_key, Time now) {
  const auto root = roots_.find(log_key.substr(0, log_key.rfind('/')));
  if (root != roots_.end()) trained_[root->second] = now;
}

void Troubles::add_pod(const Pod& pod, Time now) {
  const std::string key = key_of(pod.metadata);
  const SharedText root = root_of(pod.metadata);
  roots_[key] = root;
  pods_[pod.metadata.uid] = {now, root, std::nullopt, {}, false, 0};
  for (const std::size_t index : of_root_[root]) {
    Trouble& trouble = troubles_[index];
    if (trouble.over) continue;
    const bool replaced =
        trouble.key == key && (trouble.kind == Kind::removed || trouble.kind == Kind::rejected);
    if (replaced || trouble.kind == Kind::refused) trouble.over = now;
  }
  change_pod(pod, pod, Record());
}

// What it was refused before is there now.
void Troubles::add_owned(const Object& object, Time now) {
  const SharedText& owner = object.metadata.controller()->uid;
  owners_[object.metadata.uid] = owner;
  owned_[owned_key(object)] = owner;
  const auto indices = of_root_.find(root_of(object.metadata));
  if (indices == of_root_.end()) return;
  const std::string name = concat({"\"", object.metadata.name, "\""});
  for (const std::size_t index : indices->second) {
    Trouble& trouble = troubles_[index];
    if (trouble.kind == Kind::refused && !trouble.over && trouble.uid == owner &&
        trouble.message.find(name) != std::string::npos)
      trouble.over = now;
  }
}

// A controller whose cache is late asks again for what it has made: `services "x" already exists`.
// Who finds another's object under that name is refused in earnest.
bool Troubles::is_there_already(const Trouble& refused) const {
  const std::string_view message = refused.message;
  const std::size_t end = message.find("\" already exists");
  if (end == message.npos) return false;
  const std::string_view before = message.substr(0, end);  // `Error creating: services "x`
  const std::size_t quote = before.rfind('"');
  if (quote == before.npos || quote == 0) return false;
  const std::string_view name = before.substr(quote + 1);
  std::string_view resource = before.substr(0, quote - 1);
  resource.remove_prefix(resource.rfind(' ') + 1);  // all of it where there is no blank
  resource = resource.substr(0, resource.find('.'));
  const std::string_view space = std::string_view(refused.key).substr(0, refused.key.find('/'));
  if (resource == Pod::info().plural) {
    const auto pod = roots_.find(concat({space, "/", name}));
    return pod != roots_.end() && pod->second == refused.root;
  }
  const auto owned = owned_.find(concat({resource, " ", space, "/", name}));
  return owned != owned_.end() && owned->second == refused.uid;
}

void Troubles::change_pod(const Pod& before, const Pod& pod, const Record& record) {
  const SharedText& uid = pod.metadata.uid;
  PodTale& tale = pods_[uid];
  const Time now = record.id != 0 ? record.time : tale.created;
  if (pod.status.phase == "Running") tale.ran = true;
  const bool fell = pod.status.phase == "Failed" && before.status.phase != "Failed";
  if (fell && !pod.status.rest->reason.empty()) {
    Trouble trouble = trouble_of(Kind::rejected, pod, tale.root, now);
    trouble.reason = pod.status.rest->reason.str();
    trouble.message = pod.status.rest->message.str();
    open(std::move(trouble));
  }
  if (pod.metadata.deletionTimestamp && !before.metadata.deletionTimestamp) {
    tale.removed = now;
    // What the operator takes away it has its reasons for, which are told of others.
    if (!is_terminal_phase(pod.status.phase) && !is_of_a_system(record.actor)) {
      Trouble trouble = trouble_of(Kind::removed, pod, tale.root, now);
      trouble.by = record.actor == scenario_client ? "the scenario" : record.actor;
      open(std::move(trouble));
    }
  }
  const PodCondition* placed = pod.status.condition("PodScheduled");
  if (pod.spec->nodeName.empty() && placed != nullptr && placed->status == "False") {
    Trouble trouble = trouble_of(Kind::unplaced, pod, tale.root, tale.created);
    trouble.reason = placed->reason.str();
    trouble.message = placed->message.str();
    open(std::move(trouble));
  } else if (!pod.spec->nodeName.empty() && before.spec->nodeName.empty()) {
    close(uid, {}, now);
  } else if (pod.status.phase == "Running" && before.status.phase != "Running") {
    close(uid, {}, now);
  }
  for (const ContainerStatus& status : pod.status.initContainerStatuses)
    take_container_status(pod, status, true, now);
  for (const ContainerStatus& status : pod.status.containerStatuses)
    take_container_status(pod, status, false, now);
}

void Troubles::take_container_status(const Pod& pod, const ContainerStatus& status, bool init,
                                     Time now) {
  take_end(pod, status, init, now);
  const auto& waiting = status.state.waiting;
  if (!waiting || is_dull(waiting->reason)) {
    if (!waiting) close(pod.metadata.uid, status.name, now);
    return;
  }
  const PodTale& tale = pods_[pod.metadata.uid];
  close_warnings(pod.metadata.uid, now);
  Trouble trouble = trouble_of(Kind::waiting, pod, tale.root, tale.ran ? now : tale.created);
  trouble.container = status.name;
  trouble.init = init;
  trouble.reason = waiting->reason.str();
  trouble.message = waiting->message.str();
  open(std::move(trouble));
}

// A container that is restarted at once shows its end in lastState only.
void Troubles::take_end(const Pod& pod, const ContainerStatus& status, bool init, Time now) {
  const auto& end =
      status.state.terminated ? status.state.terminated : status.lastState->terminated;
  if (!end || end->exitCode == 0) return;
  const std::string subject = concat({key_of(pod.metadata), "/", status.name});
  Run& run = runs_[subject];
  if (run.ended == end->containerID && !end->containerID.empty()) return;
  run.ended = end->containerID;
  const PodTale& tale = pods_[pod.metadata.uid];
  const bool exited_now = run.exited >= run.began && run.exited != Time();
  const Time at = exited_now ? run.exited : now;
  // It was asked to end.
  if (tale.removed && at >= *tale.removed) return;
  if (run.by != stopped && at - run.by_at > ends_of_it) run.by.clear();
  if (run.by == stopped) {
    if (tale.unhealthy.empty()) return;  // a sidecar, after the others
    run.by = fmt::format("{}: {}", stopped, tale.unhealthy);
  }
  for (const std::size_t index : of_root_[tale.root])
    troubles_[index].recovered = recovered(troubles_[index]);
  Trouble trouble = trouble_of(Kind::ended, pod, tale.root, at);
  trouble.container = status.name;
  trouble.init = init;
  trouble.run_began = run.began;
  trouble.exit_code = end->exitCode;
  trouble.reason = end->reason.str();
  trouble.message = end->message.str();
  const bool as_before = run.trouble != no_trouble && troubles_[run.trouble].uid == trouble.uid &&
                         troubles_[run.trouble].exit_code == trouble.exit_code;
  run.times = as_before ? run.times + 1 : 1;
  trouble.times = run.times;
  trouble.by = run.by;
  trouble.first_line = run.first_line;
  run.trouble = add(std::move(trouble));
  close_warnings(pod.metadata.uid, now);
}

std::size_t Troubles::add(Trouble trouble) {
  const std::size_t index = troubles_.size();
  of_root_[trouble.root].push_back(index);
  if (const auto pod = pods_.find(trouble.uid); pod != pods_.end() && !is_end(trouble))
    ++pod->second.open;
  troubles_.push_back(std::move(trouble));
  return index;
}

void Troubles::take_warning(const Event& event, Time now) {
  if (event.type_ != "Warning") return;
  const ObjectReference& about = event.involvedObject;
  const auto pod = pods_.find(SharedText(about.uid));
  if (pod != pods_.end() && event.reason == "Unhealthy")
    pod->second.unhealthy = event.message.str();
  if (!says_why(event)) return;
  if (pod == pods_.end() && event.reason == "Failed")
    return;  // a job's end, which its status tells
  Trouble trouble;
  trouble.kind = pod != pods_.end() ? Kind::warned : Kind::refused;
  if (pod != pods_.end() && pod->second.ran) return;
  trouble.object = short_name(about);
  trouble.key = concat({about.namespace_, "/", about.name});
  trouble.uid = SharedText(about.uid);
  trouble.root = trouble.uid;
  if (pod != pods_.end())
    trouble.root = pod->second.root;
  else
    for (auto above = owners_.find(trouble.root); above != owners_.end();
         above = owners_.find(trouble.root))
      trouble.root = above->second;
  trouble.began = pod != pods_.end() ? pod->second.created : now;
  trouble.reason = event.reason.str();
  trouble.message = event.message.str();
  if (trouble.kind == Kind::refused && is_there_already(trouble)) return;
  open(std::move(trouble));
}

// What is open already only says it in newer words.
void Troubles::open(Trouble trouble) {
  for (const std::size_t index : of_root_[trouble.root]) {
    Trouble& known = troubles_[index];
    if (known.kind != trouble.kind || known.uid != trouble.uid || known.over ||
        known.container != trouble.container)
      continue;
    known.reason = std::move(trouble.reason);
    known.message = std::move(trouble.message);
    return;
  }
  add(std::move(trouble));
}

// Of a pod, what kept it from starting is over; of a container, what it waited for.
void Troubles::close(const SharedText& uid, std::string_view container, Time now) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end() || pod->second.open == 0) return;
  for (const std::size_t index : of_root_[pod->second.root]) {
    Trouble& trouble = troubles_[index];
    if (trouble.over || trouble.uid != uid || is_end(trouble)) continue;
    if (!container.empty() && trouble.container != container) continue;
    trouble.over = now;
    --pod->second.open;
  }
}

// The status says now what an Event said before it.
void Troubles::close_warnings(const SharedText& uid, Time now) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end() || pod->second.open == 0) return;
  for (const std::size_t index : of_root_[pod->second.root]) {
    Trouble& trouble = troubles_[index];
    if (trouble.over || trouble.uid != uid || trouble.kind != Kind::warned) continue;
    trouble.over = now;
    --pod->second.open;
  }
}

// ---- what came of it ---------------------------------------------------------------------------

// The job has trained since: after the restart, or without it.
bool Troubles::recovered(const Trouble& trouble) const {
  if (trouble.recovered) return true;
  const auto trained = trained_.find(trouble.root);
  if (trained == trained_.end()) return false;
  return trouble.restarted ? trained->second > *trouble.restarted
                           : trained->second > trouble.began + step_told_late;
}

bool Troubles::is_consequence(const Trouble& trouble) const {
  return trouble.kind == Kind::ended && trouble.by.empty() &&
         tells_of_a_peer(telling_line(log_of(trouble)));
}

// The later one's process was there when the earlier trouble came, and the job has not trained
// since.
bool Troubles::may_have_made(const Trouble& earlier, const Trouble& later) const {
  if (earlier.root != later.root || later.kind != Kind::ended || recovered(earlier)) return false;
  if (earlier.key == later.key && earlier.container == later.container) return false;
  const bool lost_a_peer = is_consequence(later);
  if (!lost_a_peer && is_consequence(earlier)) return false;
  if (!is_end(earlier))
    return lost_a_peer && earlier.began <= later.began &&
           (!earlier.over || *earlier.over > later.began);
  if (earlier.kind != Kind::ended && !lost_a_peer) return false;
  const bool long_back = earlier.restarted && later.began - *earlier.restarted > told_late;
  if (long_back && !lost_a_peer) return false;
  return later.run_began <= earlier.began &&
         earlier.began < later.began + (lost_a_peer ? told_late : Duration::zero());
}

// The same container has ended badly once more, by itself: that tells of the one before it too.
bool Troubles::ended_again(const Trouble& trouble, Time until) const {
  const auto indices = of_root_.find(trouble.root);
  if (trouble.kind != Kind::ended || indices == of_root_.end()) return false;
  return std::any_of(indices->second.begin(), indices->second.end(), [&](std::size_t index) {
    const Trouble& later = troubles_[index];
    return later.kind == Kind::ended && later.key == trouble.key &&
           later.container == trouble.container && later.began > trouble.began &&
           later.began <= until && !is_consequence(later);
  });
}

std::vector<const Trouble*> Troubles::unsolved(const SharedText& root, Time until) const {
  std::vector<const Trouble*> found;
  const auto indices = of_root_.find(root);
  if (indices == of_root_.end()) return found;
  for (const std::size_t index : indices->second) {
    const Trouble& trouble = troubles_[index];
    if (trouble.began > until || (trouble.over && *trouble.over <= until)) continue;
    if (is_end(trouble) && recovered(trouble)) continue;
    found.push_back(&trouble);
  }
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const Trouble* one) { return ended_again(*one, until); }),
              found.end());
  std::stable_sort(found.begin(), found.end(),
                   [](const Trouble* a, const Trouble* b) { return a->began < b->began; });
  return found;
}

const Trouble* Troubles::culprit(const SharedText& root, Time until,
                                 std::string_view decider) const {
  const auto all = unsolved(root, until);
  if (all.empty()) return nullptr;
  // What has ended and was not started again comes before what waits; what is its own reason
  // before who lost a peer.
  const auto weight = [&](const Trouble* one) {
    const bool started_again = one->restarted && *one->restarted <= until;
    return (is_consequence(*one) ? 4 : 0) + (started_again ? 2 : 0) + (is_end(*one) ? 0 : 1);
  };
  const Trouble* found =
      *std::min_element(all.begin(), all.end(),
                        [&](const Trouble* a, const Trouble* b) { return weight(a) < weight(b); });
  for (const Trouble* one : all)
    if (!decider.empty() && one->key == decider) found = one;
  // Where it is known who decided, others that failed before it are its reason only if it says so.
  if (!decider.empty() && found->key == decider && !is_consequence(*found)) return found;
  for (std::size_t steps = 0; steps < all.size(); ++steps) {
    const Trouble* made_by = nullptr;
    for (const Trouble* one : all) {
      if (!may_have_made(*one, *found)) continue;
      if (made_by == nullptr || (is_consequence(*made_by) && !is_consequence(*one))) made_by = one;
    }
    if (made_by == nullptr) break;
    found = made_by;
  }
  return found;
}

// ---- in words ----------------------------------------------------------------------------------

std::span<const std::string> Troubles::log_of(const Trouble& trouble) const {
  if (trouble.kind != Kind::ended) return {};
  const auto log = logs_.find(concat({trouble.key, "/", trouble.container}));
  if (log == logs_.end()) return {};
  const std::vector<std::string>& lines = log->second.lines;
  const std::size_t end = std::min(trouble.last_line.value_or(lines.size()), lines.size());
  const std::size_t begin = std::min(trouble.first_line, end);
  return std::span(lines).subspan(begin, end - begin);
}

namespace {

std::string with_message(std::string text, std::string_view message) {
  return message.empty() ? text : std::move(text) + ": " + std::string(message);
}

// "exit 137 (OOMKilled)", "exit 139 (SIGSEGV)", "StartError, exit 128".
std::string exit_text(const Trouble& trouble) {
  if (trouble.reason == "OOMKilled") return fmt::format("exit {} (OOMKilled)", trouble.exit_code);
  if (!trouble.reason.empty() && trouble.reason != "Error")
    return fmt::format("{}, exit {}", trouble.reason, trouble.exit_code);
  const std::string_view signal = signal_of(trouble.exit_code);
  return signal.empty() ? fmt::format("exit {}", trouble.exit_code)
                        : fmt::format("exit {} (SIG{})", trouble.exit_code, signal);
}

}  // namespace

std::string Troubles::line(const Trouble& trouble) const {
  const std::string container =
      fmt::format("{}container {}", trouble.init ? "init " : "", trouble.container);
  switch (trouble.kind) {
    case Kind::ended: {
      std::string text = container + " " + exit_text(trouble);
      if (!trouble.by.empty()) text += ", by " + trouble.by;
      if (trouble.times > 1) text += fmt::format(", {} times", trouble.times);
      if (!trouble.message.empty()) return text + ": " + trouble.message;
      const bool killed = trouble.reason == "OOMKilled" || !trouble.by.empty();
      const std::string told = killed ? std::string() : telling_line(log_of(trouble));
      return told.empty() ? text : fmt::format("{}: \"{}\"", text, told);
    }
    case Kind::rejected:
    case Kind::refused:
    case Kind::warned:
      return with_message(trouble.reason, trouble.message);
    case Kind::removed:
      return trouble.by.empty() ? "was deleted" : "was deleted by " + trouble.by;
    case Kind::waiting:
      return with_message(container + " waits: " + trouble.reason, trouble.message);
    case Kind::unplaced:
      return with_message("not placed", trouble.message);
  }
  return {};
}

}  // namespace ddptwin::scenario
