#include "cluster/kubelet/container_statuses.hpp"

#include <algorithm>

#include "cluster/kubelet/phase.hpp"
#include "cluster/kubelet/restart_policy.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::int32_t killed_code = 137;

ContainerState state_of(const ContainerInstance& instance) {
  ContainerState state;
  switch (instance.stage) {
    case ContainerStage::created:
      state.waiting.emplace();
      break;
    case ContainerStage::running:
      state.running.emplace();
      state.running->startedAt = instance.started_at;
      break;
    case ContainerStage::exited: {
      ContainerStateTerminated& end = state.terminated.emplace();
      end.exitCode = instance.exit_code;
      end.reason = instance.reason;
      end.message = instance.message;
      end.startedAt = instance.started_at.value_or(Time{});
      end.finishedAt = instance.finished_at;
      end.containerID = instance.shown->id;
      break;
    }
  }
  return state;
}

// What stays while the container is that one: the same memory where it was told before. What each
// asks for is shown once it has been started.
Cow<ContainerStatus::Rest> rest_of(const ShownContainer& shown, bool was_started,
                                   const SpecFacts::OfContainer& facts,
                                   const ContainerStatus* old) {
  using Rest = ContainerStatus::Rest;
  Cow<Rest> rest = old != nullptr ? old->rest : Cow<Rest>();
  set(rest, &Rest::containerID, shown.id);
  set(rest, &Rest::image, shown.image);
  set(rest, &Rest::imageID, shown.image_id);
  set(rest, &Rest::resources, was_started ? facts.resources : Rare<ResourceRequirements>());
  set(rest, &Rest::allocatedResources,
      was_started ? facts.resources->requests : Cow<ResourceList>());
  if (!rest->user.absent() || !rest->allocatedResourcesStatus.absent() ||
      rest->stopSignal.has_value() || !rest->extra.absent()) {  // nothing that a kubelet says
    Rest& own = rest.edit();
    own.user = own.allocatedResourcesStatus = own.extra = {};
    own.stopSignal.reset();
  }
  return rest;
}

// The statuses are made where they stay: one is long to move.
void fill_waiting(const StatusSources& in, const Container& container, const ContainerStatus* old,
                  ContainerStatus& status) {
  if (old != nullptr && old->state.terminated && !in.removed.contains(container.name)) {
    status = *old;
    return;
  }
  status.name = container.name;
  status.rest.edit().image = container.image;
  const std::string_view reason =
      in.pod.spec->initContainers.empty() ? "ContainerCreating" : "PodInitializing";
  if (old != nullptr && old->state.waiting && old->state.waiting->reason == reason &&
      old->state.waiting->message.empty())
    status.state.waiting = old->state.waiting;
  else
    status.state.waiting.emplace().reason = reason;
  if (old == nullptr) return;
  status.restartCount = old->restartCount;
  status.lastState = old->lastState;
}

// It was seen running, and now the runtime does not know it.
void note_lost(const StatusSources& in, const ContainerStatus& old, ContainerStatus& status) {
  if (!old.state.running || !status.state.waiting) return;
  if (!status.lastState->terminated)
    status.lastState.edit().terminated = unknown_end(
        "The container could not be located when the pod was deleted.  The container used to be "
        "Running");
  if (!in.pod.metadata.deletionTimestamp) ++status.restartCount;
}

ContainerState removed_end() {
  ContainerState state;
  ContainerStateTerminated& end = state.terminated.emplace();
  end.exitCode = killed_code;
  end.reason = "RestartingAllContainers";
  end.message = "The container is removed because RestartAllContainers in place";
  return state;
}

// Of an instance that has ended: how, as it was told before.
bool tells_end(const ContainerState& told, const ContainerInstance& instance) {
  if (instance.stage != ContainerStage::exited || !told.terminated) return false;
  const ContainerStateTerminated& end = *told.terminated;
  return end.containerID.view().ends_with(instance.id) && end.exitCode == instance.exit_code &&
         end.reason == instance.reason && end.message == instance.message;
}

void fill_seen(const StatusSources& in, const Container& container,
               const SpecFacts::OfContainer& facts, const ContainerInstance& latest,
               const ContainerStatus* old, ContainerStatus& status) {
  status.name = container.name;
  status.restartCount = static_cast<std::int32_t>(latest.attempt);
  status.rest = rest_of(*latest.shown, latest.stage != ContainerStage::created, facts, old);
  status.state = old != nullptr && tells_end(old->state, latest) ? old->state : state_of(latest);
  int instances = 0;
  for (const ContainerInstance& instance : in.state.containers) {
    if (instance.name != container.name || ++instances != 2) continue;
    if (old != nullptr && tells_end(*old->lastState, instance))
      status.lastState = old->lastState;
    else
      status.lastState = state_of(instance);
  }
}

// The container failed to start, or waits for its next start.
void show_failure(const StatusSources& in, const Container& container, bool init,
                  ContainerStatus& status) {
  const auto failure = in.failures.find(container.name);
  if (failure == in.failures.end()) return;
  const ContainerInstance* last = in.state.find(container.name);
  const bool done = init && last != nullptr && last->stage == ContainerStage::exited &&
                    last->exit_code == 0 && !is_sidecar(container);
  if (done || !wants_start(in.pod, container, in.state)) return;
  if (status.state.terminated) status.lastState = status.state;
  status.state = ContainerState{};
  status.state.waiting = ContainerStateWaiting{failure->second.reason, failure->second.message};
}

void fill_status(const StatusSources& in, const Container& container,
                 const SpecFacts::OfContainer& facts, bool init, ContainerStatus& status) {
  const auto& before = init ? in.before.initContainerStatuses : in.before.containerStatuses;
  const ContainerStatus* old = find_status(before, container.name);
  const ContainerInstance* latest = in.state.find(container.name);
  const auto removed = in.removed.find(container.name);
  if (latest != nullptr) {
    fill_seen(in, container, facts, *latest, old, status);
    if (removed != in.removed.end()) {
      status.restartCount += removed->second;
      if (!status.lastState->terminated) status.lastState = removed_end();
    }
  } else {
    fill_waiting(in, container, old, status);
    if (removed != in.removed.end()) {
      status.restartCount = removed->second;
      status.lastState = removed_end();
    } else if (old != nullptr) {
      note_lost(in, *old, status);
    }
  }
  show_failure(in, container, init, status);
  set(status.rest, &ContainerStatus::Rest::volumeMounts, facts.volume_mounts);
}

}  // namespace

ContainerStateTerminated unknown_end(std::string message) {
  ContainerStateTerminated end;
  end.exitCode = killed_code;
  end.reason = "ContainerStatusUnknown";
  end.message = std::move(message);
  return end;
}

void fill_container_statuses(const StatusSources& in, PodStatus& status) {
  const auto statuses_of = [&](const std::vector<Container>& containers, bool init,
                               const std::vector<SpecFacts::OfContainer>& facts) {
    std::vector<ContainerStatus> made;
    made.reserve(containers.size());
    for (std::size_t i = 0; i < containers.size(); ++i)
      fill_status(in, containers[i], facts[i], init, made.emplace_back());
    return made;
  };
  const PodSpec& spec = *in.pod.spec;
  if (in.init_containers_stay)
    status.initContainerStatuses = in.before.initContainerStatuses;
  else if (!spec.initContainers.empty())
    status.initContainerStatuses = statuses_of(spec.initContainers, true, in.facts.init_containers);
  if (in.containers_stay) {
    status.containerStatuses = in.before.containerStatuses;
    return;
  }
  std::vector<ContainerStatus> main = statuses_of(spec.containers, false, in.facts.containers);
  std::sort(main.begin(), main.end(),
            [](const ContainerStatus& a, const ContainerStatus& b) { return a.name < b.name; });
  status.containerStatuses = std::move(main);
}

}  // namespace ddptwin::kubelet
