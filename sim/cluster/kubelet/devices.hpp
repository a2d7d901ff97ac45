// The devices of one node that a plugin announces, and which container holds which.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/kubelet/status.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

inline constexpr std::string_view gpu_resource = "nvidia.com/gpu";

// A label of a node whose value is how many of each pod's devices do not answer there, unnoticed by
// the plugin: the container is not told of them.
inline constexpr std::string_view lost_gpus_label = "ddptwin.dev/lost-gpus";

// The nvidia.com/gpu of a node, as the NVIDIA plugin and the kubelet's device manager keep them: as
// many as the node's capacity says, numbered from 0. What is held outlives the kubelet's process,
// as upstream's checkpoint does. Source: upstream pkg/kubelet/cm/devicemanager/manager.go,
// spec/gpu.md §3. All are healthy; a plugin chooses the lowest numbers that are free, in the twin.
class Devices {
 public:
  explicit Devices(std::string node_name) : node_name_(std::move(node_name)) {}

  // Gives each container what its limit asks for; what an init container holds goes on to those
  // that come after it. A pod that has its devices keeps them. Returns why a pod cannot be
  // admitted, and then it holds none. `holds`: whether a pod, by uid, still runs something; of the
  // others all is free again.
  std::optional<PodVerdict> allocate(const Pod& pod, const Node& node,
                                     const std::function<bool(std::string_view uid)>& holds);
  void release(std::string_view uid);

  // The numbers of those that a container holds, rising; none of an unknown pod.
  const std::vector<std::int64_t>& held(std::string_view uid, std::string_view container) const;
  // As its environment tells of them: their UUIDs, less those of lost_gpus_label.
  std::vector<std::string> told(const Pod& pod, const Node& node, const Container& container) const;
  // The same for the same node and number in every run.
  std::string uuid(std::int64_t number) const;

 private:
  using Numbers = std::vector<std::int64_t>;
  using ByContainer = std::map<std::string, Numbers, std::less<>>;
  // What a container gets, or why not (upstream devicesToAllocate).
  struct Choice {
    Numbers numbers{};
    std::string refusal{};
  };
  Choice choose(std::int64_t wanted, std::int64_t capacity, const Numbers& reusable) const;
  bool is_held(std::int64_t number) const;

  std::string node_name_;
  std::map<std::string, ByContainer, std::less<>> pods_{};  // by uid
};

}  // namespace ddptwin::kubelet
