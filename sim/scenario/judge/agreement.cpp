#include "scenario/judge/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "core/numbers.hpp"
#include "objects/kinds.hpp"
#include "objects/volumes.hpp"
#include "scenario/judge/told_lines.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/language/narrator.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view cut_off =
    "a signal from outside ended it: ranks tell the end of one step at one instant in virtual time "
    "and some milliseconds apart in real time, and whoever is ended between them is a step behind";

constexpr std::string_view unfinished =
    "its containers are restarted for ever: how far the newest life of one has come when the run "
    "is over is decided by nothing but the time";
constexpr const char* restarted = "restarted";  // an aspect: for ever
constexpr std::string_view joined = "joined", error = "error", lasts = "lasts";  // likewise

// "pod/train-worker-0", "endpointslice.discovery.k8s.io/train-*", "persistentvolume/pvc-* of
// default/data": a volume that was made for a claim is called after the claim's uid.
std::string row_name(const Object& object) {
  if (const auto* volume = as<PersistentVolume>(object);
      volume != nullptr && volume->spec.claimRef && annotation(*volume, provisioned_by) != nullptr)
    return fmt::format("persistentvolume/pvc-* of {}/{}", volume->spec.claimRef->namespace_,
                       volume->spec.claimRef->name);
  const Text& prefix = object.metadata.rest->generateName;
  if (prefix.empty()) return short_name(object);
  std::string name = short_name(object);
  name.resize(name.size() - (object.metadata.name.size() - prefix.size()));
  return name + "*";
}

bool differ_by_one(const std::string& one, const std::string& other, std::string_view more) {
  std::string longer = one.size() > other.size() ? one : other;
  const std::string& shorter = one.size() > other.size() ? other : one;
  const std::size_t at = longer.find(more);
  return at != longer.npos && longer.erase(at, more.size()) == shorter;
}

bool explains(const Explained& row, std::string_view scenario, const Disagreement& one) {
  return row.scenario == scenario && one.subject.starts_with(row.subject) &&
         row.aspect == one.aspect &&
         (row.once_more.empty() || differ_by_one(one.real, one.virtual_, row.once_more));
}

std::string fact(const RunFacts& facts, const std::string& subject, const char* aspect) {
  const auto found = facts.find({subject, aspect});
  return found == facts.end() ? std::string() : found->second;
}

// Of "namespace/pod/container": "pod/name #N container", with the youngest pod of that name. A
// generated name is no pod's but one, and stands there as it is.
std::string youngest(const RunFacts& facts, std::string_view subject) {
  if (subject.find('#') != subject.npos) return std::string(subject);
  const std::size_t container_at = subject.rfind('/');
  std::string_view pod = subject.substr(0, container_at);
  if (pod.starts_with("default/")) pod.remove_prefix(pod.find('/') + 1);  // as short_name() does
  const std::string name = fmt::format("pod/{}", pod);
  int number = 1;
  while (facts.contains({fmt::format("{} #{}", name, number + 1), "phases"})) ++number;
  return fmt::format("{} #{} {}", name, number, subject.substr(container_at + 1));
}

// How the container ended: "143 Error"; empty where it runs, or never ran.
std::string last_exit(const RunFacts& facts, std::string_view subject) {
  const std::string container = youngest(facts, subject);
  const std::string exits = fact(facts, container, "exits");
  // One end more than restarts: the last run is over too.
  const auto earlier = std::count(exits.begin(), exits.end(), '>');
  if (fact(facts, container, "restarts") != fmt::format("{}", earlier)) return {};
  const std::size_t last = exits.rfind("> ");
  return last == exits.npos ? exits : exits.substr(last + 2);
}

// Whoever is ended by a signal in both runs may have told the end of one step more in one of them;
// not whoever chose its own end.
bool is_cut_off(const Disagreement& one, const RunFacts& real, const RunFacts& virtual_) {
  if (one.aspect != "steps" || one.real.empty() || one.virtual_.empty()) return false;
  if (std::abs(whole_number<std::int64_t>(one.real).value_or(0) -
               whole_number<std::int64_t>(one.virtual_).value_or(0)) != 1)
    return false;
  for (const RunFacts* facts : {&real, &virtual_})
    if (!fact(*facts, one.subject, "failure").empty()) return false;
  const std::string end = last_exit(real, one.subject);
  return (end == "137 Error" || end == "143 Error") && end == last_exit(virtual_, one.subject);
}

// How many more items the longer list has, where it begins like the other; -1: it does not.
int items_behind(const std::string& one, const std::string& other) {
  const std::string& longer = one.size() > other.size() ? one : other;
  const std::string& shorter = one.size() > other.size() ? other : one;
  if (!longer.starts_with(shorter + " > ")) return -1;
  return static_cast<int>(
      std::count(longer.begin() + static_cast<std::ptrdiff_t>(shorter.size()), longer.end(), '>'));
}

// The pod lives on in both runs, and one of them has seen the begin or the end of one life more.
bool is_unfinished(const Disagreement& one, const RunFacts& real, const RunFacts& virtual_) {
  const std::string pod = one.subject.substr(0, one.subject.find(' ', one.subject.find('#')));
  for (const RunFacts* facts : {&real, &virtual_}) {
    const std::string phases = fact(*facts, pod, "phases");
    if (fact(*facts, pod, restarted).empty() || phases.ends_with("Failed") ||
        phases.ends_with("Succeeded"))
      return false;
  }
  constexpr int ends = 1, transitions = 2;  // of one life
  const int more = items_behind(one.real, one.virtual_);
  if (one.aspect == "exits") return more == ends;
  if (one.aspect.starts_with("condition ")) return more > 0 && more <= transitions;
  return one.aspect == "restarts" &&
         std::abs(whole_number<std::int64_t>(one.real).value_or(0) -
                  whole_number<std::int64_t>(one.virtual_).value_or(0)) == 1;
}

// What the newest life of a container said, where its pod is restarted for ever in both runs.
bool is_of_newest_life(const Disagreement& one, const RunFacts& real, const RunFacts& virtual_) {
  if (one.aspect != joined && one.aspect != error) return false;
  for (const RunFacts* facts : {&real, &virtual_}) {
    const std::string container = youngest(*facts, one.subject);
    const std::string pod = container.substr(0, container.rfind(' '));
    if (fact(*facts, pod, restarted).empty()) return false;
  }
  return true;
}

bool is_within(const TimeBound& bound, double one, double other) {
  const double slack = std::chrono::duration<double>(bound.slack).count();
  return std::max(one, other) <= bound.factor * std::min(one, other) + slack;
}

// Two lists of seconds, as far as both go: that one is longer stands in other facts.
bool are_within(const TimeBound& bound, std::string_view real, std::string_view virtual_) {
  constexpr std::string_view between = " > ";
  while (!real.empty() && !virtual_.empty()) {
    double seconds[2] = {};
    std::size_t at = 0;
    for (std::string_view* list : {&real, &virtual_}) {
      const std::size_t end = std::min(list->find(between), list->size());
      const std::string_view first = list->substr(0, end);
      std::from_chars(first.data(), first.data() + first.size(), seconds[at++]);
      list->remove_prefix(std::min(end + between.size(), list->size()));
    }
    if (!is_within(bound, seconds[0], seconds[1])) return false;
  }
  return true;
}

// Whether two facts, or one where the other run has none, are as good as equal.
bool counts_as_equal(std::string_view aspect, const std::string& real, const std::string& virtual_,
                     const TimeBound& bound) {
  if (aspect == "failure") return true;
  if (aspect == lasts) return are_within(bound, real, virtual_);
  return aspect == error && virtual_.empty() && !is_of_pytorch(real);
}

std::string list_text(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, " > "));
}

}  // namespace

void CanonicalTrace::on_record(const Record& record) {
  switch (record.kind) {
    case RecordKind::object_added: {
      // Events are told again, or not, by chance of the order: they are no part of the outcome.
      if (as<Event>(*record.after) != nullptr) return;
      const std::string name = row_name(*record.after);
      Named& named = names_[name];
      ++named.left;
      std::string& numbered = numbered_[record.after->metadata.uid];
      numbered = fmt::format("{} #{}", name, ++named.made);
      if (as<Pod>(*record.after) != nullptr && !record.after->metadata.rest->generateName.empty())
        generated_[key_of(record.after->metadata)] = numbered;
      seen_[numbered].made = record.time;
      return change(*record.after, record.time);
    }
    case RecordKind::object_modified:
      return change(*record.after, record.time);
    case RecordKind::object_deleted:
      if (numbered_.contains(record.before->metadata.uid)) --names_[row_name(*record.before)].left;
      return;
    case RecordKind::log:
      return log(record);
    default:
      return;
  }
}

void CanonicalTrace::change(const Object& object, Time now) {
  // What was there before the scenario began is the cluster's own.
  const auto number = numbered_.find(object.metadata.uid);
  if (number == numbered_.end()) return;
  if (const Pod* changed = as<Pod>(object)) return pod(seen_[number->second], *changed);
  if (const auto* claim = as<PersistentVolumeClaim>(object))
    return phase(seen_[number->second], claim->status.phase);
  const JobKind* job = job_kind(object.kind());
  if (job == nullptr) return;
  Seen& seen = seen_[number->second];
  for (const ToldCondition& one : job->conditions(object))
    if (condition(seen, "", std::string(one.type), std::string(one.status),
                  std::string(one.reason)))
      seen.changed = now;
}

bool CanonicalTrace::condition(Seen& seen, const std::string& list, const std::string& type,
                               const std::string& status, const std::string& reason) {
  std::string now = status + (reason.empty() ? "" : " " + reason);
  std::string& last = seen.conditions[type];
  if (last == now) return false;
  const bool first = last.empty();
  last = std::move(now);
  if (first && type == "PodReadyToStartContainers" && status == "False") return true;
  seen.transitions[list].push_back(type + "=" + last);
  return true;
}

void CanonicalTrace::phase(Seen& seen, std::string_view now) {
  if (!now.empty() && (seen.phases.empty() || seen.phases.back() != now))
    seen.phases.emplace_back(now);
}

void CanonicalTrace::pod(Seen& seen, const Pod& pod) {
  seen.for_ever = pod.spec->restartPolicy == "Always";
  phase(seen, pod.status.phase);
  for (const PodCondition& one : pod.status.conditions)
    condition(seen, one.type_.str(), one.type_.str(), one.status.str(), one.reason.str());
  containers(seen, pod.status.initContainerStatuses);
  containers(seen, pod.status.containerStatuses);
}

void CanonicalTrace::containers(Seen& seen, const std::vector<ContainerStatus>& statuses) {
  for (const ContainerStatus& status : statuses) {
    seen.restarts[status.name.str()] = status.restartCount;
    // The last state first: it is the older one.
    for (const ContainerState* state : {&*status.lastState, &status.state}) {
      if (!state->terminated || !seen.ended.insert(state->terminated->containerID.str()).second)
        continue;
      seen.exits[status.name.str()].push_back(
          fmt::format("{} {}", state->terminated->exitCode, state->terminated->reason));
      const auto& [from, to] =
          std::pair(state->terminated->startedAt, state->terminated->finishedAt);
      const bool known = from && to && *from != Time() && *to >= *from;
      seen.lasted[status.name.str()].push_back(
          fmt::format("{:.0f}", known ? seconds_of(*to - *from) : 0.0));
    }
  }
}

// The same in runs that generate other names.
std::string CanonicalTrace::container_of(const Record& log) const {
  const std::string_view subject = log.subject;
  const std::size_t slash = subject.rfind('/');
  const auto pod = generated_.find(subject.substr(0, slash));
  if (pod == generated_.end()) return std::string(subject);
  return fmt::format("{} {}", pod->second, subject.substr(slash + 1));
}

void CanonicalTrace::log(const Record& record) {
  constexpr std::string_view failing = "failing ";
  const std::string container = container_of(record);
  if (record.text.starts_with(failing)) {
    failures_[container] = record.text.substr(failing.size());
    return;
  }
  if (std::string who = joined_by(record.text, join_lines_); !who.empty())
    joined_[container].insert(std::move(who));
  if (std::string told = error_in(record.text); !told.empty()) errors_[container] = std::move(told);
  const StepLine line = step_of(record.text);
  std::int64_t& last = steps_[container];
  last = std::max(last, line.step);
}

RunFacts CanonicalTrace::facts() const {
  RunFacts facts;
  for (const auto& [name, named] : names_)
    facts[{name, "objects"}] = fmt::format("{} made, {} left", named.made, named.left);
  for (const auto& [name, seen] : seen_) {
    for (const auto& [list, transitions] : seen.transitions)
      facts[{name, list.empty() ? "conditions" : "condition " + list}] = list_text(transitions);
    if (seen.for_ever) facts[{name, restarted}] = "for ever";
    if (!seen.phases.empty()) facts[{name, "phases"}] = list_text(seen.phases);
    for (const auto& [container, exits] : seen.exits)
      facts[{name + " " + container, "exits"}] = list_text(exits);
    if (seen.changed > seen.made)
      facts[{name, std::string(lasts)}] =
          fmt::format("{:.1f}", seconds_of(seen.changed - seen.made));
    for (const auto& [container, lasted] : seen.lasted)
      if (std::any_of(lasted.begin(), lasted.end(), [](const auto& one) { return one != "0"; }))
        facts[{name + " " + container, std::string(lasts)}] = list_text(lasted);
    for (const auto& [container, restarts] : seen.restarts)
      facts[{name + " " + container, "restarts"}] = fmt::format("{}", restarts);
  }
  for (const auto& [container, step] : steps_)
    if (step > 0) facts[{container, "steps"}] = fmt::format("{}", step);
  for (const auto& [container, who] : joined_)
    facts[{container, std::string(joined)}] = fmt::format("{}", fmt::join(who, ", "));
  for (const auto& [container, told] : errors_) facts[{container, std::string(error)}] = told;
  for (const auto& [container, failure] : failures_) facts[{container, "failure"}] = failure;
  return facts;
}

std::vector<Disagreement> compare(std::string_view scenario, const RunFacts& real,
                                  const RunFacts& virtual_, const TimeBound& bound) {
  std::vector<Disagreement> found;
  const auto note = [&](const auto& key, std::string in_real, std::string in_virtual) {
    if (counts_as_equal(key.second, in_real, in_virtual, bound)) return;
    Disagreement one{key.first, key.second, std::move(in_real), std::move(in_virtual), {}};
    for (const Explained& row : explained_differences()) {
      if (explains(row, scenario, one)) one.explanation = row.reason;
    }
    if (is_cut_off(one, real, virtual_)) one.explanation = cut_off;
    if (is_unfinished(one, real, virtual_) || is_of_newest_life(one, real, virtual_))
      one.explanation = unfinished;
    found.push_back(std::move(one));
  };
  for (const auto& [key, value] : real) {
    const auto other = virtual_.find(key);
    if (other == virtual_.end())
      note(key, value, "");
    else if (other->second != value)
      note(key, value, other->second);
  }
  for (const auto& [key, value] : virtual_)
    if (!real.contains(key)) note(key, "", value);
  return found;
}

std::span<const Explained> explained_differences() {
  static constexpr std::string_view killed = "worker-killed-onfailure";
  static constexpr std::string_view worker = "pod/train-worker-0 #1";
  static constexpr std::string_view early =
      "the kill follows a step's line, and the next all-reduce is a millisecond behind it: killed "
      "after that, the worker is missed at the end of the step only (ddp-semantics.md §3.1, "
      "Training::loss_of), and back before that it fails with the master";
  static constexpr std::string_view limit = "backoff-limit";
  static constexpr std::string_view master = "pod/train-master-0 #1";
  static constexpr std::string_view outrun =
      "the kubelet looks once a second (kubernetes.md §2.1, PLEG): a master that takes longer to "
      "end "
      "than its worker is seen a look later, when the worker's restart has used up the limit "
      "(spec/pytorchjob.md §4.6) and the pods go before the master is started again";
  static constexpr std::string_view containers_lost_and_back =
      "ContainersReady=False ContainersNotReady > ContainersReady=True > ";
  static constexpr std::string_view lost_and_back =
      "Ready=False ContainersNotReady > Ready=True > ";
  static constexpr std::string_view once_more_made =
      "Trainer may see that its JobSet is gone before it sees its own word that the TrainJob has "
      "failed: then it makes another one, whose deadline is over as well (spec/trainjob.md §7.4)";
  static constexpr std::array rows{
      Explained{"trainjob-deadline", "jobset/train", "objects", "", once_more_made},
      Explained{killed, worker, "exits", "1 Error > ", early},
      Explained{killed, worker, "restarts", "", early},
      Explained{killed, worker, "condition ContainersReady", containers_lost_and_back, early},
      Explained{killed, worker, "condition Ready", lost_and_back, early},
      Explained{limit, master, "exits", " > 143 Error", outrun},
      Explained{limit, master, "restarts", "", outrun},
      Explained{limit, master, "condition ContainersReady", containers_lost_and_back, outrun},
      Explained{limit, master, "condition Ready", lost_and_back, outrun},
  };
  return rows;
}

}  // namespace ddptwin::scenario
