// What the runtime says of one pod, as the kubelet's sync sees it (kubecontainer.PodStatus).
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

struct SandboxState {
  SandboxId id{};
  std::uint32_t attempt = 0;
  bool ready = false;
  std::string ip{};
  Time created_at{};
};

enum class ContainerStage : std::uint8_t { created, running, exited };

// As statuses show a container for as long as it is there.
struct ShownContainer {
  SharedText id{};
  SharedText image{};  // as the pod's specification names it
  SharedText image_id{};
  bool operator==(const ShownContainer&) const = default;
};
inline bool operator==(const Cow<ShownContainer>& left, const Cow<ShownContainer>& right) {
  return left.same_as(right) || *left == *right;
}

// First what plans and comparisons read. All of a pod are copied with each change of one.
struct ContainerInstance {
  ContainerId id{};
  Text name{};
  ContainerStage stage = ContainerStage::created;
  std::int32_t exit_code = 0;
  std::uint32_t attempt = 0;  // the restart count it was created with
  Time created_at{};
  OptionalTime started_at{}, finished_at{};
  Cow<ShownContainer> shown{};
  Text message{};
  Text reason{};
  bool operator==(const ContainerInstance&) const = default;
};
// A pod has a handful, in one piece with the rest of its state.
using ContainerInstances = boost::container::small_vector<ContainerInstance, 2>;

// Both lists have the latest first. One state is mostly the one before but for a container: the
// sandbox and its addresses are then the same memory.
struct PodRuntimeState {
  Cow<std::vector<SandboxState>> sandboxes{};
  ContainerInstances containers{};
  // Kept when the sandbox is lost, as the kubelet's cache keeps them.
  Cow<std::vector<std::string>> ips{};

  // The latest container of that name, or null.
  const ContainerInstance* find(std::string_view name) const {
    for (const ContainerInstance& one : containers)
      if (one.name == name) return &one;
    return nullptr;
  }
  const ContainerInstance* find_exited(std::string_view name) const {
    for (const ContainerInstance& one : containers)
      if (one.stage == ContainerStage::exited && one.name == name) return &one;
    return nullptr;
  }
  // The same, if it was made in the present sandbox.
  const ContainerInstance* find_in_sandbox(std::string_view name) const {
    const ContainerInstance* last = find(name);
    const bool present =
        last != nullptr && !sandboxes.empty() &&
        (last->stage != ContainerStage::exited || last->created_at >= sandboxes.front().created_at);
    return present ? last : nullptr;
  }
  bool sandbox_ready() const { return !sandboxes.empty() && sandboxes.front().ready; }
  bool any_running() const {
    return std::any_of(containers.begin(), containers.end(), [](const ContainerInstance& c) {
      return c.stage == ContainerStage::running;
    });
  }
};

}  // namespace ddptwin::kubelet
