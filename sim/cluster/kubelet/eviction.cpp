#include "cluster/kubelet/eviction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/kubelet/restart_policy.hpp"
#include "cluster/pods/placement.hpp"
#include "cluster/pods/resources.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::string_view ephemeral_storage = "ephemeral-storage";
constexpr std::int32_t system_critical =
    2'000'000'000;  // upstream scheduling.SystemCriticalPriority

PodVerdict evicted(std::string message) { return {"Evicted", std::move(message), {}}; }

const Quantity* find_limit(const ResourceList& limits) {
  const auto found = limits.find(ephemeral_storage);
  return found == limits.end() ? nullptr : &found->second;
}

// Null: it has none. One in memory is full at its limit.
const Quantity* size_limit(const Volume& volume) {
  if (!volume.emptyDir || volume.emptyDir->medium == "Memory" || !volume.emptyDir->sizeLimit)
    return nullptr;
  const Quantity& limit = *volume.emptyDir->sizeLimit;
  return limit > Quantity() ? &limit : nullptr;
}

Quantity amount_of_memory(const ResourceList& list) {
  const auto found = list.find("memory");
  return found == list.end() ? Quantity() : found->second;
}

std::int64_t total(const PodUsage& usage) {
  std::int64_t sum = 0;
  for (const PodUsage::OfContainer& one : usage.containers) sum += one.root + one.logs;
  for (const auto& [name, bytes] : usage.volumes) sum += bytes;
  return sum;
}

}  // namespace

std::int64_t memory_of(const PodUsage& usage) {
  std::int64_t sum = 0;
  for (const PodUsage::OfContainer& one : usage.containers) sum += one.memory;
  return sum;
}

bool goes_first(const MemoryUser& a, const MemoryUser& b) {
  const auto excess = [](const MemoryUser& user) {
    const Cow<ResourceList> requests = pod_requests(*user.spec);
    return memory_of(*user.usage) - amount_of_memory(requests).value();
  };
  const std::int64_t of_a = excess(a), of_b = excess(b);
  if ((of_a > 0) != (of_b > 0)) return of_a > 0;
  const auto priority_a = a.spec->priority.value_or(0), priority_b = b.spec->priority.value_or(0);
  if (priority_a != priority_b) return priority_a < priority_b;
  return of_a > of_b;
}

PodVerdict low_on_memory(const MemoryUser& user, std::int64_t available) {
  const auto text = [](std::int64_t bytes) {
    return Quantity::of(bytes, Quantity::Format::binary_si).str();
  };
  std::string message =
      fmt::format("The node was low on resource: memory. Threshold quantity: {}, available: {}. ",
                  text(free_memory_min), text(available));
  for (const PodUsage::OfContainer& one : user.usage->containers) {
    const Container* container = find_container(*user.spec, one.name);
    if (container == nullptr) continue;
    const Quantity request = amount_of_memory(container->resources.requests);
    if (Quantity::of(one.memory) > request)
      message += fmt::format(
          "Container {} was using {}, request is {}, has larger consumption of memory. ", one.name,
          text(one.memory), request.str());
  }
  PodVerdict verdict = evicted(message);
  verdict.disruption = std::move(message);
  return verdict;
}

std::optional<PodVerdict> refuse_under_pressure(const PodSpec& spec) {
  const Taint taint{"node.kubernetes.io/memory-pressure", {}, "NoSchedule", {}};
  const bool is_tolerated =
      std::any_of(spec.tolerations.begin(), spec.tolerations.end(),
                  [&](const Toleration& one) { return tolerates(one, taint); });
  if (is_critical(spec) || qos_class(spec) != QosClass::best_effort || is_tolerated)
    return std::nullopt;
  return evicted("The node had condition: [MemoryPressure]. ");
}

bool has_disk_limits(const PodSpec& spec) {
  const auto is_limited = [](const Container& one) {
    return find_limit(one.resources.limits) != nullptr;
  };
  return std::any_of(spec.volumes.begin(), spec.volumes.end(),
                     [](const Volume& volume) { return size_limit(volume) != nullptr; }) ||
         (spec.resources && find_limit(spec.resources->limits) != nullptr) ||
         std::any_of(spec.containers.begin(), spec.containers.end(), is_limited) ||
         std::any_of(spec.initContainers.begin(), spec.initContainers.end(), is_limited);
}

bool is_critical(const PodSpec& spec) { return spec.priority.value_or(0) >= system_critical; }

std::optional<PodVerdict> over_disk_limit(const PodSpec& spec, const PodUsage& usage) {
  for (const Volume& volume : spec.volumes) {
    const Quantity* limit = size_limit(volume);
    const auto used = usage.volumes.find(volume.name);
    if (limit != nullptr && used != usage.volumes.end() && Quantity::of(used->second) > *limit)
      return evicted(fmt::format("Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\". ",
                                 volume.name, limit->str()));
  }
  const Cow<ResourceList> limits = pod_limits(spec);
  const Quantity* limit = find_limit(limits);
  if (limit == nullptr) return std::nullopt;
  if (Quantity::of(total(usage)) > *limit)
    return evicted(
        fmt::format("Pod ephemeral local storage usage exceeds the total limit of containers {}. ",
                    limit->str()));
  for (const PodUsage::OfContainer& one : usage.containers) {
    const Container* container = spec.container(one.name);
    const Quantity* own = container != nullptr ? find_limit(container->resources.limits) : nullptr;
    if (own != nullptr && !own->zero() && Quantity::of(one.root + one.logs) > *own)
      return evicted(fmt::format("Container {} exceeded its local ephemeral storage limit \"{}\". ",
                                 one.name, own->str()));
  }
  return std::nullopt;
}

}  // namespace ddptwin::kubelet
