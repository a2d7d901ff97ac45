#include "cluster/kubelet/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "cluster/kubelet/phase.hpp"
#include "cluster/kubelet/restart_policy.hpp"

namespace ddptwin::kubelet {

using namespace std::string_view_literals;
namespace {

// What a condition says.
struct Judgement {
  bool holds = false;
  std::string_view reason{};  // a literal
  std::string message{};

  std::string_view status() const { return holds ? "True" : "False"; }
};

// Under which type a judgement is told, of which generation of the pod it speaks, and since when it
// has been so.
struct Row {
  std::string_view type{};  // a literal
  const Judgement* judgement = nullptr;
  OptionalInt64 generation{};
  std::optional<Time> since{};
};

// `made` says nothing yet; most of what holds has neither reason nor message.
void fill(PodCondition& made, const Row& row) {
  made.type_ = row.type;
  made.observedGeneration = row.generation;
  made.status = row.judgement->status();
  made.lastTransitionTime = row.since;
  if (!row.judgement->reason.empty()) made.reason = row.judgement->reason;
  if (!row.judgement->message.empty()) made.message = row.judgement->message;
}

// Whether it is the one that would be made. Lists that differ mostly do so in what costs little to
// compare, which is compared first.
bool looks_like(const PodCondition& known, const Row& row) {
  return known.lastTransitionTime == row.since && known.observedGeneration == row.generation &&
         known.status.size() == row.judgement->status().size() &&
         known.reason.size() == row.judgement->reason.size();
}
bool says(const PodCondition& known, const Row& row) {
  return known.status == row.judgement->status() && known.reason == row.judgement->reason &&
         known.message == row.judgement->message && known.type_ == row.type &&
         !known.lastProbeTime && known.extra.absent();
}
bool say(std::span<const PodCondition> known, std::span<const Row> rows) {
  return std::equal(known.begin(), known.end(), rows.begin(), rows.end(), looks_like) &&
         std::equal(known.begin(), known.end(), rows.begin(), rows.end(), says);
}

// Names of containers that lack something, and of those of which nothing is known; a blank behind
// each.
struct Lacking {
  std::string unknown{};
  std::string lacking{};

  std::string message(std::string_view word) const {
    std::string text;
    say(text, "unknown", unknown);
    say(text, word, lacking);
    return text;
  }

 private:
  static void say(std::string& text, std::string_view word, const std::string& names) {
    if (names.empty()) return;
    constexpr std::string_view between = ", ", begin = "containers with ", end = " status: [";
    text.reserve(text.size() + between.size() + begin.size() + word.size() + end.size() +
                 names.size());
    if (!text.empty()) text += between;
    text.append(begin).append(word).append(end).append(names);
    text.back() = ']';
  }
};

template <class Good>
void look(const std::vector<ContainerStatus>& statuses, const std::string& name, Lacking& found,
          Good good) {
  const ContainerStatus* status = find_status(statuses, name);
  if (status == nullptr)
    found.unknown.append(name).append(1, ' ');
  else if (!good(*status))
    found.lacking.append(name).append(1, ' ');
}

Judgement initialized(const Pod& pod, const PodStatus& status) {
  Lacking found;
  for (const Container& container : pod.spec->initContainers)
    look(status.initContainerStatuses, container.name, found, [&](const ContainerStatus& seen) {
      return is_sidecar(container) ? seen.started.value_or(false) : seen.ready;
    });
  if (status.phase == "Succeeded"sv && found.unknown.empty()) return {true, "PodCompleted"};
  std::string message = found.message("incomplete");
  if (message.empty() || any_main_started(*pod.spec, status)) return {true};
  return {false, "ContainersNotInitialized", std::move(message)};
}

Judgement containers_ready(const Pod& pod, const PodStatus& status) {
  Lacking found;
  const auto ready = [](const ContainerStatus& seen) { return seen.ready; };
  for (const Container& container : pod.spec->initContainers)
    if (is_sidecar(container)) look(status.initContainerStatuses, container.name, found, ready);
  for (const Container& container : pod.spec->containers)
    look(status.containerStatuses, container.name, found, ready);
  if (status.phase == "Succeeded"sv && found.unknown.empty()) return {false, "PodCompleted"};
  if (status.phase == "Failed"sv) return {false, "PodFailed"};
  std::string message = found.message("unready");
  if (message.empty()) return {true};
  return {false, "ContainersNotReady", std::move(message)};
}

std::string gate_message(const PodReadinessGate& gate, const PodStatus& status) {
  const PodCondition* seen = find_condition(status.conditions, gate.conditionType);
  if (seen == nullptr)
    return fmt::format("corresponding condition of pod readiness gate \"{}\" does not exist.",
                       gate.conditionType);
  if (seen->status != "True")
    return fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but {}",
                       gate.conditionType, seen->status);
  return {};
}

// Of a pod whose containers are ready.
Judgement gates_open(const Pod& pod, const PodStatus& status) {
  std::string message;
  for (const PodReadinessGate& gate : pod.spec->rest->readinessGates) {
    const std::string text = gate_message(gate, status);
    if (!text.empty()) message += (message.empty() ? "" : ", ") + text;
  }
  if (message.empty()) return {true};
  return {false, "ReadinessGatesNotReady", std::move(message)};
}

Judgement restarting(const PodStatus& status, RestartAll restart_all) {
  const bool under_way = restart_all == RestartAll::under_way;
  if (status.phase == "Succeeded"sv) return {under_way, "PodCompleted"};
  return {under_way, under_way ? "RestartAllContainersStarted" : ""};
}

// Of a type as long as the literal: the compiler then needs no call to compare them.
template <std::size_t N>
bool is_spelled(std::string_view type, const char (&literal)[N]) {
  return std::memcmp(type.data(), literal, N - 1) == 0;
}

}  // namespace

// A status has a handful, and is gone through many times: none of them is as long as another.
bool is_kubelet_condition(std::string_view type) {
  switch (type.size()) {
    case 5:
      return is_spelled(type, "Ready");
    case 11:
      return is_spelled(type, "Initialized");
    case 12:
      return is_spelled(type, "PodScheduled");
    case 15:
      return is_spelled(type, "ContainersReady");
    case 16:
      return is_spelled(type, "PodResizePending");
    case 19:
      return is_spelled(type, "PodResizeInProgress");
    case 23:
      return is_spelled(type, "AllContainersRestarting");
    case 25:
      return is_spelled(type, "PodReadyToStartContainers");
    default:
      return false;
  }
}

const PodCondition* find_condition(const std::vector<PodCondition>& conditions,
                                   std::string_view type) {
  for (const PodCondition& condition : conditions)
    if (condition.type_ == type) return &condition;
  return nullptr;
}

void add_kubelet_conditions(const ConditionInputs& in, PodStatus& status) {
  const Judgement sandbox{in.sandbox_ready}, scheduled{true};
  const Judgement init = initialized(in.pod, status);
  const Judgement containers = containers_ready(in.pod, status);
  const Judgement gates = containers.holds ? gates_open(in.pod, status) : Judgement();
  const bool has_rule = in.restart_all != RestartAll::absent;
  const Judgement restart = has_rule ? restarting(status, in.restart_all) : Judgement();
  const std::int64_t generation = in.pod.metadata.generation;
  std::array<Row, 6> all{{
      {"PodReadyToStartContainers", &sandbox, generation},
      {"Initialized", &init, generation},
      {"Ready", containers.holds ? &gates : &containers, generation},
      {"ContainersReady", &containers, generation},
      {"PodScheduled", &scheduled, generation},
      // Unlike the others it does not say of which generation it speaks.
      {"AllContainersRestarting", &restart, std::nullopt},
  }};
  const std::span rows = std::span(all).first(has_rule ? 6 : 5);
  const std::vector<PodCondition>& others = status.conditions;
  const std::vector<PodCondition>& known = in.before.conditions;
  std::size_t place = others.size();  // where it mostly was
  for (Row& row : rows) {
    const PodCondition* old = place < known.size() && known[place].type_ == row.type
                                  ? &known[place]
                                  : find_condition(known, row.type);
    const bool stays = old != nullptr && old->status == row.judgement->status();
    row.since =
        stays && old->lastTransitionTime ? *old->lastTransitionTime : in.now.floor_seconds();
    ++place;
  }
  // Lists of other stages and other pods mostly differ in what changed last: it is compared first.
  const auto last = std::max_element(rows.begin(), rows.end(),
                                     [](const Row& a, const Row& b) { return a.since < b.since; });
  const std::size_t last_place = others.size() + static_cast<std::size_t>(last - rows.begin());
  const auto says_it = [&](const std::vector<PodCondition>& list) {
    return list.size() == others.size() + rows.size() &&
           list[last_place].lastTransitionTime == last->since &&
           say(std::span(list).subspan(others.size()), rows) &&
           std::equal(others.begin(), others.end(), list.begin());
  };
  const auto make = [&] {
    std::vector<PodCondition> list;
    list.reserve(others.size() + rows.size());
    list = others;
    for (const Row& row : rows) fill(list.emplace_back(), row);
    return list;
  };
  status.conditions = says_it(known) ? in.before.conditions : in.known(says_it, make);
}

Cow<std::vector<PodCondition>> with_ready_sandbox(const Cow<std::vector<PodCondition>>& conditions,
                                                  Time now,
                                                  Interner<std::vector<PodCondition>>& known) {
  const PodCondition* old = find_condition(conditions, "PodReadyToStartContainers");
  if (old == nullptr || old->status == "True") return conditions;
  PodCondition next = *old;
  next.status = "True";
  next.lastTransitionTime = now.floor_seconds();
  const auto place = static_cast<std::size_t>(old - conditions->data());
  const auto is_it = [&](const std::vector<PodCondition>& list) {
    if (list.size() != conditions.size() || list[place] != next) return false;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (i != place && list[i] != conditions[i]) return false;
    return true;
  };
  return known(is_it, [&] {
    std::vector<PodCondition> list = conditions;
    list[place] = std::move(next);
    return list;
  });
}

void settle_transition_times(Cow<std::vector<PodCondition>>& conditions, Time now) {
  const auto has_time = [](const PodCondition& made) {
    return made.lastTransitionTime.has_value();
  };
  if (std::all_of(conditions.begin(), conditions.end(), has_time)) return;
  for (PodCondition& made : conditions.edit())
    if (!made.lastTransitionTime) made.lastTransitionTime = now.floor_seconds();
}

void refresh_readiness(const Pod& pod, PodStatus& status) {
  const Judgement containers = containers_ready(pod, status);
  const Judgement whole = containers.holds ? gates_open(pod, status) : containers;
  const auto refresh = [&](PodCondition& made, std::string_view type, const Judgement& fresh) {
    if (made.type_ != type) return;
    const PodCondition old = std::exchange(made, PodCondition());
    fill(made, {type, &fresh, pod.metadata.generation, std::nullopt});
    if (made.status == old.status) made.lastTransitionTime = old.lastTransitionTime;
  };
  for (PodCondition& made : status.conditions.edit()) {
    refresh(made, "ContainersReady", containers);
    refresh(made, "Ready", whole);
  }
}

}  // namespace ddptwin::kubelet
