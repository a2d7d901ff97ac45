#include "cluster/kubelet/conditions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cluster/kubelet/phase.hpp"
#include "cluster/kubelet/restart_policy.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::array<std::string_view, 8> kubelet_types{
    "PodReadyToStartContainers", "Initialized",         "Ready",
    "ContainersReady",           "PodScheduled",        "AllContainersRestarting",
    "PodResizePending",          "PodResizeInProgress",
};

PodCondition condition(const Pod& pod, std::string_view type, bool holds, std::string reason = {},
                       std::string message = {}) {
  PodCondition made;
  made.type_ = type;
  made.observedGeneration = pod.metadata.generation;
  made.status = holds ? "True" : "False";
  made.reason = std::move(reason);
  made.message = std::move(message);
  return made;
}

// Names of containers that lack something, and of those of which nothing is known.
struct Lacking {
  std::vector<std::string_view> unknown{};
  std::vector<std::string_view> lacking{};

  std::string message(std::string_view word) const {
    std::string text;
    if (!unknown.empty())
      text = fmt::format("containers with unknown status: [{}]", fmt::join(unknown, " "));
    if (!lacking.empty())
      text += fmt::format("{}containers with {} status: [{}]", text.empty() ? "" : ", ", word,
                          fmt::join(lacking, " "));
    return text;
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

PodCondition initialized(const Pod& pod, const PodStatus& status) {
  Lacking found;
  for (const Container& container : pod.spec->initContainers)
    look(status.initContainerStatuses, container.name, found, [&](const ContainerStatus& seen) {
      return is_sidecar(container) ? seen.started.value_or(false) : seen.ready;
    });
  if (status.phase == "Succeeded" && found.unknown.empty())
    return condition(pod, "Initialized", true, "PodCompleted");
  const std::string message = found.message("incomplete");
  if (message.empty() || any_main_started(*pod.spec, status))
    return condition(pod, "Initialized", true);
  return condition(pod, "Initialized", false, "ContainersNotInitialized", message);
}

PodCondition containers_ready(const Pod& pod, const PodStatus& status) {
  Lacking found;
  const auto ready = [](const ContainerStatus& seen) { return seen.ready; };
  for (const Container& container : pod.spec->initContainers)
    if (is_sidecar(container)) look(status.initContainerStatuses, container.name, found, ready);
  for (const Container& container : pod.spec->containers)
    look(status.containerStatuses, container.name, found, ready);
  if (status.phase == "Succeeded" && found.unknown.empty())
    return condition(pod, "ContainersReady", false, "PodCompleted");
  if (status.phase == "Failed") return condition(pod, "ContainersReady", false, "PodFailed");
  std::string message = found.message("unready");
  if (message.empty()) return condition(pod, "ContainersReady", true);
  return condition(pod, "ContainersReady", false, "ContainersNotReady", std::move(message));
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

PodCondition ready(const Pod& pod, const PodStatus& status, const PodCondition& containers) {
  if (containers.status != "True") {
    PodCondition same = containers;
    same.type_ = "Ready";
    return same;
  }
  std::string message;
  for (const PodReadinessGate& gate : pod.spec->readinessGates) {
    const std::string text = gate_message(gate, status);
    if (!text.empty()) message += (message.empty() ? "" : ", ") + text;
  }
  if (message.empty()) return condition(pod, "Ready", true);
  return condition(pod, "Ready", false, "ReadinessGatesNotReady", std::move(message));
}

// Unlike the others it does not say of which generation it speaks.
PodCondition restarting(const Pod& pod, const PodStatus& status, RestartAll restart_all) {
  const bool under_way = restart_all == RestartAll::under_way;
  std::string reason = under_way ? "RestartAllContainersStarted" : "";
  if (status.phase == "Succeeded") reason = "PodCompleted";
  PodCondition made = condition(pod, "AllContainersRestarting", under_way, std::move(reason));
  made.observedGeneration.reset();
  return made;
}

}  // namespace

bool is_kubelet_condition(std::string_view type) {
  return std::find(kubelet_types.begin(), kubelet_types.end(), type) != kubelet_types.end();
}

const PodCondition* find_condition(const std::vector<PodCondition>& conditions,
                                   std::string_view type) {
  const auto at = std::find_if(conditions.begin(), conditions.end(),
                               [&](const PodCondition& c) { return c.type_ == type; });
  return at == conditions.end() ? nullptr : &*at;
}

std::vector<PodCondition> kubelet_conditions(const Pod& pod, const PodStatus& status,
                                             bool sandbox_ready, RestartAll restart_all) {
  PodCondition containers = containers_ready(pod, status);
  std::vector<PodCondition> conditions;
  conditions.reserve(restart_all != RestartAll::absent ? 6 : 5);
  conditions.push_back(condition(pod, "PodReadyToStartContainers", sandbox_ready));
  conditions.push_back(initialized(pod, status));
  conditions.push_back(ready(pod, status, containers));
  conditions.push_back(std::move(containers));
  conditions.push_back(condition(pod, "PodScheduled", true));
  if (restart_all != RestartAll::absent) conditions.push_back(restarting(pod, status, restart_all));
  return conditions;
}

void keep_transition_times(Cow<std::vector<PodCondition>>& conditions, const PodStatus& before,
                           Time now) {
  const auto time_of = [&](const PodCondition& made) -> std::optional<Time> {
    const PodCondition* old =
        is_kubelet_condition(made.type_) ? find_condition(before.conditions, made.type_) : &made;
    const bool kept = old != nullptr && old->status == made.status && old->lastTransitionTime;
    return kept ? old->lastTransitionTime : now.floor_seconds();
  };
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::optional<Time> time = time_of(conditions[i]);
    if (conditions[i].lastTransitionTime != time) conditions.edit()[i].lastTransitionTime = time;
  }
}

void refresh_readiness(const Pod& pod, PodStatus& status) {
  const PodCondition containers = containers_ready(pod, status);
  const PodCondition whole = ready(pod, status, containers);
  for (PodCondition& made : status.conditions.edit())
    for (const PodCondition* fresh : {&containers, &whole})
      if (made.type_ == fresh->type_) {
        const std::optional<Time> since = made.lastTransitionTime;
        const bool same = made.status == fresh->status;
        made = *fresh;
        if (same) made.lastTransitionTime = since;
      }
}

}  // namespace ddptwin::kubelet
