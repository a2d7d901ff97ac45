#include "cluster/kubelet/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster/pods/placement.hpp"

namespace ddptwin::kubelet {
namespace {

PodVerdict lacks(std::string_view resource, std::int64_t requested, std::int64_t used,
                 std::int64_t capacity) {
  return PodVerdict{"OutOf" + std::string(resource),
                    fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, "
                                "capacity: {}",
                                resource, requested, used, capacity),
                    {}};
}

std::int64_t amount(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

// Which resource is named where several are short: cpu, memory and ephemeral-storage, then what
// else the pod asks for.
std::size_t rank_of(std::string_view resource) {
  constexpr std::array<std::string_view, 3> first{"cpu", "memory", "ephemeral-storage"};
  return static_cast<std::size_t>(std::find(first.begin(), first.end(), resource) - first.begin());
}

std::optional<PodVerdict> refuse_for_resources(const PodClaim& pod, const Node& node,
                                               const std::vector<PodClaim>& others) {
  const ResourceList& allocatable = node.status.allocatable;
  if (const auto room = allocatable.find("pods"); room != allocatable.end()) {
    const auto used = static_cast<std::int64_t>(others.size());
    if (used + 1 > room->second.value()) return lacks("pods", 1, used, room->second.value());
  }
  std::optional<PodVerdict> verdict;
  std::size_t rank = 0;
  auto at = allocatable.begin();
  for (const auto& [name, request] : pod.requests) {
    const Quantity* room = next_amount(at, allocatable, name);
    // A resource that the node has never heard of is left out of account.
    if (request.zero() || room == nullptr) continue;
    Quantity used;
    for (const PodClaim& other : others)
      if (&other.requests == &pod.requests)  // of one job, mostly
        used += request;
      else if (const auto held = other.requests.find(name); held != other.requests.end())
        used += held->second;
    const std::int64_t capacity = amount(name, *room);
    const std::int64_t taken = amount(name, used);
    const std::int64_t requested = amount(name, request);
    if (taken + requested <= capacity || (verdict && rank_of(name) >= rank)) continue;
    verdict = lacks(name, requested, taken, capacity);
    rank = rank_of(name);
  }
  return verdict;
}

bool ports_are_free(const PodClaim& pod, const std::vector<PodClaim>& others) {
  const std::vector<HostPort> wanted = host_ports(pod.spec);
  return wanted.empty() || std::none_of(others.begin(), others.end(), [&](const PodClaim& other) {
           return ports_conflict(wanted, host_ports(other.spec));
         });
}

PodVerdict predicate(std::string_view name, std::string_view text) {
  return PodVerdict{std::string(name), fmt::format("Predicate {} failed: {}", name, text), {}};
}

}  // namespace

std::optional<PodVerdict> refuse_pod(const PodClaim& pod, const Node& node,
                                     const std::vector<PodClaim>& others) {
  if (auto verdict = refuse_for_resources(pod, node, others)) return verdict;
  if (!matches_node(pod.spec, node))
    return predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  if (!ports_are_free(pod, others))
    return predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  return std::nullopt;
}

}  // namespace ddptwin::kubelet
