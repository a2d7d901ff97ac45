// The life of a pod on its node, as a table: what is not listed cannot happen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ddptwin::kubelet {

// Where the worker of one pod is. Source: upstream pod_workers.go, spec/kubernetes.md §2.5.
enum class PodStage : std::uint8_t {
  fresh,     // seen, not yet admitted
  active,    // kept as its specification says
  ending,    // its containers are being stopped
  ended,     // nothing of it runs; the last status is to be written
  finished,  // nothing is left to do but to let the object go
};
constexpr std::array pod_stages{PodStage::fresh, PodStage::active, PodStage::ending,
                                PodStage::ended, PodStage::finished};

enum class PodEvent : std::uint8_t {
  admitted,
  rejected,
  completed,  // its phase is terminal
  deleted,    // it has a deletion timestamp
  removed,    // the object is gone
  evicted,    // the kubelet itself ends it
  stopped,    // nothing of it runs any more
  cleaned,    // the last status is on its way
};

struct PodTransition {
  PodStage from;
  PodEvent on;
  PodStage to;
  std::string_view reason;
};

constexpr std::array pod_transitions{
    PodTransition{PodStage::fresh, PodEvent::admitted, PodStage::active, "Admitted"},
    PodTransition{PodStage::fresh, PodEvent::rejected, PodStage::finished, "Rejected"},
    PodTransition{PodStage::fresh, PodEvent::deleted, PodStage::ending, "DeletedBeforeStart"},
    PodTransition{PodStage::fresh, PodEvent::removed, PodStage::ending, "RemovedBeforeStart"},
    PodTransition{PodStage::fresh, PodEvent::evicted, PodStage::ending, "EvictedBeforeStart"},
    PodTransition{PodStage::fresh, PodEvent::completed, PodStage::ending, "WasComplete"},
    PodTransition{PodStage::active, PodEvent::completed, PodStage::ending, "Completed"},
    PodTransition{PodStage::active, PodEvent::deleted, PodStage::ending, "Deleted"},
    PodTransition{PodStage::active, PodEvent::removed, PodStage::ending, "Removed"},
    PodTransition{PodStage::active, PodEvent::evicted, PodStage::ending, "Evicted"},
    PodTransition{PodStage::ending, PodEvent::deleted, PodStage::ending, "AlreadyEnding"},
    PodTransition{PodStage::ending, PodEvent::removed, PodStage::ending, "AlreadyEnding"},
    PodTransition{PodStage::ending, PodEvent::evicted, PodStage::ending, "AlreadyEnding"},
    PodTransition{PodStage::ending, PodEvent::stopped, PodStage::ended, "ContainersStopped"},
    PodTransition{PodStage::ended, PodEvent::deleted, PodStage::ended, "AlreadyEnded"},
    PodTransition{PodStage::ended, PodEvent::removed, PodStage::ended, "AlreadyEnded"},
    PodTransition{PodStage::ended, PodEvent::evicted, PodStage::ended, "AlreadyEnded"},
    PodTransition{PodStage::ended, PodEvent::cleaned, PodStage::finished, "CleanedUp"},
    PodTransition{PodStage::finished, PodEvent::deleted, PodStage::finished, "LetGo"},
    PodTransition{PodStage::finished, PodEvent::removed, PodStage::finished, "LetGo"},
    PodTransition{PodStage::finished, PodEvent::evicted, PodStage::finished, "LetGo"},
};

constexpr const PodTransition* find_transition(PodStage from, PodEvent on) {
  for (const PodTransition& row : pod_transitions)
    if (row.from == from && row.on == on) return &row;
  return nullptr;
}

namespace lifecycle_detail {

constexpr bool at_most_one_answer() {
  for (std::size_t i = 0; i < pod_transitions.size(); ++i)
    for (std::size_t j = i + 1; j < pod_transitions.size(); ++j)
      if (pod_transitions[i].from == pod_transitions[j].from &&
          pod_transitions[i].on == pod_transitions[j].on)
        return false;
  return true;
}

constexpr bool all_accept(PodEvent event) {
  for (const PodStage stage : pod_stages)
    if (find_transition(stage, event) == nullptr) return false;
  return true;
}

constexpr bool never_backwards() {
  for (const PodTransition& row : pod_transitions)
    if (row.to < row.from) return false;
  return true;
}

}  // namespace lifecycle_detail

static_assert(lifecycle_detail::at_most_one_answer(), "two transitions answer the same event");
static_assert(lifecycle_detail::all_accept(PodEvent::deleted), "a stage that cannot be deleted");
static_assert(lifecycle_detail::all_accept(PodEvent::removed), "a stage that outlives its object");
static_assert(lifecycle_detail::all_accept(PodEvent::evicted), "a stage that cannot be evicted");
static_assert(lifecycle_detail::never_backwards(), "a pod comes back to life");

std::string_view to_string(PodStage stage);
std::string_view to_string(PodEvent event);

}  // namespace ddptwin::kubelet
