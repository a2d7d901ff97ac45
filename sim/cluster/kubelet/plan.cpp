#include "cluster/kubelet/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/kubelet/restart_policy.hpp"

namespace ddptwin::kubelet {
namespace {

bool is(const std::optional<ProbeResult>& found, ProbeResult wanted) {
  return found && *found == wanted;
}

// Whether some main container has been made in this sandbox.
bool main_was_created(const Pod& pod, const PodRuntimeState& state) {
  return std::any_of(
      pod.spec->containers.begin(), pod.spec->containers.end(),
      [&](const Container& container) { return state.find_in_sandbox(container.name) != nullptr; });
}

bool has_succeeded(const Container& container, const PodRuntimeState& state) {
  const ContainerInstance* last = state.find(container.name);
  return last != nullptr && last->stage == ContainerStage::exited && last->exit_code == 0;
}

bool any_restarts(const PodSpec& spec) {
  return std::any_of(spec.containers.begin(), spec.containers.end(),
                     [&](const Container& c) { return restarts_on_failure(spec, c); });
}

// The sandbox is missing or lost: everything begins anew, where anything is to begin at all.
PodActions plan_new_sandbox(const Pod& pod, const PodRuntimeState& state) {
  PodActions actions;
  actions.kill_pod = true;
  actions.create_sandbox = true;
  if (!state.sandboxes.empty()) actions.sandbox_attempt = state.sandboxes.front().attempt + 1;

  const PodSpec& spec = *pod.spec;
  if (!any_restarts(spec) && actions.sandbox_attempt != 0 && !state.containers.empty()) {
    actions.create_sandbox = false;
    return actions;
  }
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < spec.containers.size(); ++i) {
    const bool done = spec.restartPolicy == "OnFailure" && has_succeeded(spec.containers[i], state);
    if (!done) starts.push_back(i);
  }
  if (starts.empty()) {
    actions.create_sandbox = false;
  } else if (!spec.initContainers.empty()) {
    actions.init_starts = {0};
  } else {
    actions.starts = std::move(starts);
  }
  return actions;
}

// Walks the init containers from the last to the first. The last one that has left a trace decides
// what comes next; of those before it only sidecars matter, which are kept running.
class InitPlan {
 public:
  InitPlan(const Pod& pod, const PodRuntimeState& state, const ProbeLookup& probes,
           PodActions& actions)
      : pod_(pod),
        state_(state),
        probes_(probes),
        actions_(actions),
        was_initialized_(main_was_created(pod, state)) {}

  // Whether the main containers may run.
  bool decide() {
    const std::vector<Container>& list = pod_.spec->initContainers;
    if (list.empty()) return true;
    bool initialized = was_initialized_;
    bool found = was_initialized_;
    for (std::size_t i = list.size(); i > 0; --i) {
      const Container& container = list[i - 1];
      const ContainerInstance* last = state_.find_in_sandbox(container.name);
      if (last == nullptr) {
        if (found && is_sidecar(container)) start(i - 1);
        continue;
      }
      const bool done =
          is_sidecar(container) ? keep_sidecar(i - 1, *last) : found || follow(i - 1, *last);
      if (actions_.kill_pod) return false;
      if (!found && done) {
        if (i == list.size())
          initialized = true;
        else
          start(i);
      }
      found = true;
    }
    if (!found) start(0);
    std::sort(actions_.init_starts.begin(), actions_.init_starts.end());
    return initialized;
  }

 private:
  void start(std::size_t index) { actions_.init_starts.push_back(index); }

  // A plain init container: whether it has succeeded.
  bool follow(std::size_t index, const ContainerInstance& last) {
    if (last.stage == ContainerStage::created) start(index);
    if (last.stage != ContainerStage::exited) return false;
    if (last.exit_code == 0) return true;
    const Container& container = pod_.spec->initContainers[index];
    if (after_exit(*pod_.spec, container, last.exit_code) == RestartDecision::stay) {
      actions_.kill_pod = true;
      actions_.init_starts.clear();
    } else {
      start(index);
    }
    return false;
  }

  // A sidecar: whether the next one may start.
  bool keep_sidecar(std::size_t index, const ContainerInstance& last) {
    const Container& container = pod_.spec->initContainers[index];
    if (last.stage != ContainerStage::running) {
      start(index);
      return false;
    }
    const auto startup = probes_(ProbeKind::startup, last.id);
    if (container.startupProbe && !is(startup, ProbeResult::success)) {
      if (is(startup, ProbeResult::failure)) replace(index, last, ProbeKind::startup);
      return false;
    }
    if (is(probes_(ProbeKind::liveness, last.id), ProbeResult::failure))
      replace(index, last, ProbeKind::liveness);
    return true;
  }

  void replace(std::size_t index, const ContainerInstance& last, ProbeKind because) {
    const std::string_view probe = because == ProbeKind::startup ? "startup" : "liveness";
    actions_.kills.push_back(KillOrder{
        last.id, last.name.str(),
        fmt::format("Init container {} failed {} probe", last.name.view(), probe), because});
    start(index);
  }

  const Pod& pod_;
  const PodRuntimeState& state_;
  const ProbeLookup& probes_;
  PodActions& actions_;
  const bool was_initialized_;
};

// Of a running main container: the probe that condemns it.
std::optional<ProbeKind> condemned_by(const ProbeLookup& probes, const ContainerId& id) {
  for (const ProbeKind kind : {ProbeKind::liveness, ProbeKind::startup})
    if (is(probes(kind, id), ProbeResult::failure)) return kind;
  return std::nullopt;
}

KillOrder condemn(const ContainerInstance& running, ProbeKind because, bool restarts) {
  const std::string_view probe = because == ProbeKind::liveness ? "liveness" : "startup";
  return KillOrder{running.id, running.name.str(),
                   fmt::format("Container {} failed {} probe{}", running.name.view(), probe,
                               restarts ? ", will be restarted" : ""),
                   because};
}

// Whether an ended container asks for a restart of all.
bool asks_for_all(const Pod& pod, const PodRuntimeState& state) {
  const auto asks = [&](const Container& container) {
    if (container.restartPolicyRules.empty()) return false;  // only a rule asks for that
    const ContainerInstance* last = state.find(container.name);
    return last != nullptr && last->stage == ContainerStage::exited &&
           after_exit(*pod.spec, container, last->exit_code) == RestartDecision::restart_all;
  };
  return std::any_of(pod.spec->containers.begin(), pod.spec->containers.end(), asks) ||
         std::any_of(pod.spec->initContainers.begin(), pod.spec->initContainers.end(), asks);
}

}  // namespace

PodActions plan_actions(const Pod& pod, const PodRuntimeState& state, const ProbeLookup& probes) {
  if (!state.sandbox_ready()) return plan_new_sandbox(pod, state);
  PodActions actions;
  if (asks_for_all(pod, state)) {
    actions.restart_all = true;
    return actions;
  }
  if (!InitPlan(pod, state, probes, actions).decide()) return actions;

  std::size_t kept = 0;
  const std::vector<Container>& list = pod.spec->containers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ContainerInstance* last = state.find(list[i].name);
    if (last == nullptr || last->stage != ContainerStage::running) {
      if (wants_start(pod, list[i], state)) actions.starts.push_back(i);
      continue;
    }
    const auto because = condemned_by(probes, last->id);
    if (!because) {
      ++kept;
      continue;
    }
    const bool restarts = restarts_on_failure(*pod.spec, list[i]);
    if (restarts) actions.starts.push_back(i);
    actions.kills.push_back(condemn(*last, *because, restarts));
  }
  if (kept == 0 && actions.starts.empty()) {
    actions.kill_pod = true;
    actions.init_starts.clear();
  }
  return actions;
}

}  // namespace ddptwin::kubelet
