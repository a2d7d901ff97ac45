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

// Under which type a judgement is told, and of which generation of the pod it speaks.
struct Row {
  std::string_view type{};  // a literal
  const Judgement* judgement = nullptr;
  std::optional<std::int64_t> generation{};
};

// `made` says nothing yet; most of what holds has neither reason nor message.
void fill(PodCondition& made, const Row& row) {
  made.type_ = row.type;
  made.observedGeneration = row.generation;
  made.status = row.judgement->status();
  if (!row.judgement->reason.empty()) made.reason = row.judgement->reason;
  if (!row.judgement->message.empty()) made.message = row.judgement->message;
}

// Whether a condition that was told before is the one that would be made, with its time.
bool says(const PodCondition& told, const Row& row) {
  return told.status == row.judgement->status() && told.reason == row.judgement->reason &&
         told.message == row.judgement->message && told.observedGeneration == row.generation &&
         told.type_ == row.type && told.lastTransitionTime && !told.lastProbeTime &&
         told.extra.absent();
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
  for (const PodReadinessGate& gate : pod.spec->readinessGates) {
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
  const auto at = std::find_if(conditions.begin(), conditions.end(),
                               [&](const PodCondition& c) { return c.type_ == type; });
  return at == conditions.end() ? nullptr : &*at;
}

void add_kubelet_conditions(const Pod& pod, bool sandbox_ready, RestartAll restart_all,
                            const PodStatus& before, PodStatus& status) {
  const Judgement sandbox{sandbox_ready}, scheduled{true};
  const Judgement init = initialized(pod, status);
  const Judgement containers = containers_ready(pod, status);
  const Judgement gates = containers.holds ? gates_open(pod, status) : Judgement();
  const Judgement restart = restarting(status, restart_all);
  const std::int64_t generation = pod.metadata.generation;
  const std::array<Row, 6> all{{
      {"PodReadyToStartContainers", &sandbox, generation},
      {"Initialized", &init, generation},
      {"Ready", containers.holds ? &gates : &containers, generation},
      {"ContainersReady", &containers, generation},
      {"PodScheduled", &scheduled, generation},
      // Unlike the others it does not say of which generation it speaks.
      {"AllContainersRestarting", &restart, std::nullopt},
  }};
  const std::span rows = std::span(all).first(restart_all != RestartAll::absent ? 6 : 5);
  const std::vector<PodCondition>& known = before.conditions;
  const std::size_t others = status.conditions.size();
  if (known.size() == others + rows.size() &&
      std::equal(rows.begin(), rows.end(), known.begin() + static_cast<std::ptrdiff_t>(others),
                 [](const Row& row, const PodCondition& told) { return says(told, row); }) &&
      std::equal(status.conditions.begin(), status.conditions.end(), known.begin())) {
    status.conditions = before.conditions;
    return;
  }
  std::vector<PodCondition>& list = status.conditions.edit();
  list.reserve(others + rows.size());
  for (const Row& row : rows) {
    const std::size_t place = list.size();  // where it mostly was
    PodCondition& made = list.emplace_back();
    fill(made, row);
    const PodCondition* old = place < known.size() && known[place].type_ == row.type
                                  ? &known[place]
                                  : find_condition(known, row.type);
    if (old != nullptr && old->status == made.status)
      made.lastTransitionTime = old->lastTransitionTime;
  }
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
    fill(made, {type, &fresh, pod.metadata.generation});
    if (made.status == old.status) made.lastTransitionTime = old.lastTransitionTime;
  };
  for (PodCondition& made : status.conditions.edit()) {
    refresh(made, "ContainersReady", containers);
    refresh(made, "Ready", whole);
  }
}

}  // namespace ddptwin::kubelet
