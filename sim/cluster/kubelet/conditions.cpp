#include "cluster/kubelet/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
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

// `made` says nothing yet; most of what holds has neither reason nor message.
void fill(PodCondition& made, const Pod& pod, std::string_view type, const Judgement& judgement) {
  made.type_ = type;
  made.observedGeneration = pod.metadata.generation;
  made.status = judgement.status();
  if (!judgement.reason.empty()) made.reason = judgement.reason;
  if (!judgement.message.empty()) made.message = judgement.message;
}

// Names of containers that lack something, and of those of which nothing is known.
struct Lacking {
  std::vector<std::string_view> unknown{};
  std::vector<std::string_view> lacking{};

  std::string message(std::string_view word) const {
    std::string text;
    say(text, "unknown", unknown);
    say(text, word, lacking);
    return text;
  }

 private:
  static void say(std::string& text, std::string_view word,
                  const std::vector<std::string_view>& names) {
    if (names.empty()) return;
    if (!text.empty()) text += ", ";
    text.append("containers with ").append(word).append(" status: [");
    for (const std::string_view name : names) text.append(name).append(" ");
    text.back() = ']';
  }
};

template <class Good>
void look(const std::vector<ContainerStatus>& statuses, const std::string& name, Lacking& found,
          Good good) {
  const ContainerStatus* status = find_status(statuses, name);
  if (status == nullptr)
    found.unknown.push_back(name);
  else if (!good(*status))
    found.lacking.push_back(name);
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

Judgement ready(const Pod& pod, const PodStatus& status, const Judgement& containers) {
  if (!containers.holds) return containers;
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

std::vector<PodCondition> kubelet_conditions(const Pod& pod, const PodStatus& status,
                                             bool sandbox_ready, RestartAll restart_all) {
  const Judgement containers = containers_ready(pod, status);
  std::vector<PodCondition> conditions;
  conditions.reserve(restart_all != RestartAll::absent ? 6 : 5);
  const auto add = [&](std::string_view type, const Judgement& judgement) {
    fill(conditions.emplace_back(), pod, type, judgement);
  };
  add("PodReadyToStartContainers", {sandbox_ready});
  add("Initialized", initialized(pod, status));
  add("Ready", ready(pod, status, containers));
  add("ContainersReady", containers);
  add("PodScheduled", {true});
  if (restart_all != RestartAll::absent) {
    add("AllContainersRestarting", restarting(status, restart_all));
    // Unlike the others it does not say of which generation it speaks.
    conditions.back().observedGeneration.reset();
  }
  return conditions;
}

void keep_transition_times(Cow<std::vector<PodCondition>>& conditions, const PodStatus& before,
                           Time now) {
  const std::vector<PodCondition>& known = before.conditions;
  std::size_t place = 0;  // where it mostly was
  for (PodCondition& made : conditions.edit()) {
    const PodCondition* old = &made;
    if (is_kubelet_condition(made.type_))
      old = place < known.size() && known[place].type_ == made.type_
                ? &known[place]
                : find_condition(known, made.type_);
    ++place;
    const bool kept = old != nullptr && old->status == made.status && old->lastTransitionTime;
    made.lastTransitionTime = kept ? old->lastTransitionTime : now.floor_seconds();
  }
}

void refresh_readiness(const Pod& pod, PodStatus& status) {
  const Judgement containers = containers_ready(pod, status);
  const Judgement whole = ready(pod, status, containers);
  const auto refresh = [&](PodCondition& made, std::string_view type, const Judgement& fresh) {
    if (made.type_ != type) return;
    PodCondition old = std::exchange(made, PodCondition());
    fill(made, pod, type, fresh);
    if (made.status == old.status) made.lastTransitionTime = old.lastTransitionTime;
  };
  for (PodCondition& made : status.conditions.edit()) {
    refresh(made, "ContainersReady", containers);
    refresh(made, "Ready", whole);
  }
}

}  // namespace ddptwin::kubelet
