#include "scripted_pods.hpp"

#include <algorithm>
#include <array>

namespace ddptwin::golden {
namespace {

constexpr std::string_view host_ip = "192.168.0.1";

struct Readiness {
  bool sandbox = true;
  bool ready = true;
  std::string reason{};  // of Ready and ContainersReady when false
  std::string initialized_reason{};
};

// The five conditions, written anew each time; a DisruptionTarget stays.
std::vector<PodCondition> conditions(const Pod& pod, Time now, const Readiness& readiness) {
  const auto condition = [&](std::string type, bool status, std::string reason = {}) {
    PodCondition c;
    c.type_ = std::move(type);
    c.status = status ? "True" : "False";
    c.lastTransitionTime = now;
    c.reason = std::move(reason);
    return c;
  };
  std::vector<PodCondition> all{condition("PodReadyToStartContainers", readiness.sandbox),
                                condition("Initialized", true, readiness.initialized_reason),
                                condition("Ready", readiness.ready, readiness.reason),
                                condition("ContainersReady", readiness.ready, readiness.reason),
                                condition("PodScheduled", true)};
  if (const PodCondition* kept = pod.status.condition("DisruptionTarget")) all.push_back(*kept);
  return all;
}

ContainerStatus fresh(const Container& container) {
  ContainerStatus status;
  status.name = container.name;
  status.rest.edit().image = container.image;
  status.rest.edit().containerID = "twin://" + container.name;
  status.started = false;
  return status;
}

std::vector<ContainerStatus> init_statuses(const Pod& pod, Time now) {
  std::vector<ContainerStatus> all;
  for (const Container& container : pod.spec->initContainers) {
    ContainerStatus status = fresh(container);
    status.ready = true;
    if (is_sidecar(container)) {
      status.state.running = ContainerStateRunning{now};
      status.started = true;
    } else {
      status.state.terminated = ContainerStateTerminated{
          .exitCode = 0, .reason = "Completed", .startedAt = now, .finishedAt = now};
    }
    all.push_back(std::move(status));
  }
  return all;
}

bool concerns(const Ending& ending, const ContainerStatus& status) {
  return ending.container.empty() || ending.container == status.name;
}

ContainerStateTerminated terminated(const ContainerStatus& before, const Ending& ending,
                                    std::optional<Time> started, Time now) {
  return {.exitCode = ending.code,
          .signal = ending.signal,
          .reason = !ending.reason.empty() ? std::string_view(ending.reason)
                    : ending.code == 0     ? "Completed"
                                           : "Error",
          .message = ending.message,
          .startedAt = started,
          .finishedAt = now,
          .containerID = before.rest->containerID};
}

}  // namespace

PodStatus running_status(const Pod& pod, Time now, const std::string& ip, bool ready) {
  PodStatus status = pod.status;
  status.phase = "Running";
  status.conditions = conditions(pod, now, {.ready = ready});
  status.rest.edit().hostIP = std::string(host_ip);
  status.rest.edit().podIP = ip;
  status.rest.edit().podIPs = {IpEntry{ip}};
  status.rest.edit().startTime = now;
  status.initContainerStatuses = init_statuses(pod, now);
  status.containerStatuses = {};
  for (const Container& container : pod.spec->containers) {
    ContainerStatus one = fresh(container);
    one.state.running = ContainerStateRunning{now};
    one.ready = ready;
    one.started = true;
    status.containerStatuses.edit().push_back(std::move(one));
  }
  return status;
}

PodStatus creating_status(const Pod& pod, Time now) {
  PodStatus status = pod.status;
  status.phase = "Pending";
  status.conditions = conditions(pod, now, {.sandbox = false, .ready = false});
  status.rest.edit().hostIP = std::string(host_ip);
  status.rest.edit().startTime = now;
  status.containerStatuses = {};
  for (const Container& container : pod.spec->containers) {
    ContainerStatus one = fresh(container);
    one.state.waiting = ContainerStateWaiting{"ContainerCreating", {}};
    status.containerStatuses.edit().push_back(std::move(one));
  }
  return status;
}

PodStatus ended_status(const Pod& pod, Time now, const Ending& ending) {
  PodStatus status = pod.status;
  bool all_over = true, any_failed = false;
  if (status.containerStatuses.empty())  // it ends before it was started
    for (const Container& container : pod.spec->containers)
      status.containerStatuses.edit().push_back(fresh(container));
  for (ContainerStatus& one : status.containerStatuses.edit()) {
    if (concerns(ending, one) && !one.state.terminated) {
      const auto started = one.state.running ? std::optional<Time>(one.state.running->startedAt)
                                             : std::optional<Time>(now);
      one.state = ContainerState{.terminated = terminated(one, ending, started, now)};
      one.ready = false;
      one.started = false;
    }
    all_over = all_over && one.state.terminated.has_value();
    any_failed = any_failed || (one.state.terminated && one.state.terminated->exitCode != 0);
  }
  if (all_over) {
    status.phase = any_failed ? "Failed" : "Succeeded";
    status.conditions = conditions(pod, now,
                                   {.sandbox = false,
                                    .ready = false,
                                    .reason = any_failed ? "PodFailed" : "PodCompleted",
                                    .initialized_reason = any_failed ? "" : "PodCompleted"});
  } else {
    status.conditions = conditions(pod, now, {.ready = false, .reason = "ContainersNotReady"});
  }
  return status;
}

PodStatus restarted_status(const Pod& pod, Time now, const Ending& ending, bool crash_loop) {
  PodStatus status = pod.status;
  bool every_ready = true;
  for (ContainerStatus& one : status.containerStatuses.edit()) {
    if (concerns(ending, one)) {
      one.lastState = ContainerState{.terminated = terminated(one, ending, now, now)};
      one.state = ContainerState{};
      one.restartCount += 1;
      one.ready = !crash_loop;
      one.started = !crash_loop;
      if (crash_loop)
        one.state.waiting = ContainerStateWaiting{
            "CrashLoopBackOff", "back-off 10s restarting failed container=" + one.name +
                                    " pod=" + pod.metadata.name + "_" + pod.metadata.namespace_ +
                                    "(" + pod.metadata.uid.str() + ")"};
      else
        one.state.running = ContainerStateRunning{now};
    }
    every_ready = every_ready && one.ready;
  }
  status.conditions = conditions(pod, now, {.ready = every_ready});
  return status;
}

PodStatus disrupted_status(const Pod& pod, Time now, const std::string& reason,
                           const std::string& message) {
  PodStatus status = pod.status;
  std::erase_if(status.conditions.edit(),
                [](const PodCondition& c) { return c.type_ == "DisruptionTarget"; });
  PodCondition target;
  target.type_ = "DisruptionTarget";
  target.status = "True";
  target.lastTransitionTime = now;
  target.reason = reason;
  target.message = message;
  status.conditions.edit().push_back(std::move(target));
  return status;
}

}  // namespace ddptwin::golden
