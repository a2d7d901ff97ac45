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

Quantity amount_of(const ResourceList& list, std::string_view resource) {
  const auto found = list.find(resource);
  return found == list.end() ? Quantity() : found->second;
}

// Upstream keeps percentages as float32, which shows in the figures of messages.
std::int64_t tenth_of(std::int64_t capacity) {
  return static_cast<std::int64_t>(static_cast<double>(capacity) * static_cast<double>(0.1F));
}

constexpr std::array<Signal, signal_count> all_signals{
    Signal{.what = NodeResource::memory,  // memory.available<100Mi
           .resource = "memory",
           .condition = "MemoryPressure",
           .taint = "node.kubernetes.io/memory-pressure",
           .under = {"KubeletHasInsufficientMemory", "kubelet has insufficient memory available"},
           .without = {"KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
           .least = [](std::int64_t) -> std::int64_t { return 100LL << 20U; },
           .of_container = [](const PodUsage::OfContainer& one) { return one.memory; },
           .of_pod = [](const PodUsage& usage) { return usage.memory(); },
           .takes_who_asks = true},
    Signal{.what = NodeResource::disk,  // nodefs.available<10%
           .resource = ephemeral_storage,
           .condition = "DiskPressure",
           .taint = "node.kubernetes.io/disk-pressure",
           .under = {"KubeletHasDiskPressure", "kubelet has disk pressure"},
           .without = {"KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
           .least = &tenth_of,
           .of_container = [](const PodUsage::OfContainer& one) { return one.root + one.logs; },
           .of_pod = [](const PodUsage& usage) { return usage.on_disk(); }},
};

}  // namespace

std::span<const Signal, signal_count> signals() { return all_signals; }

bool goes_first(const Signal& signal, const PodUser& a, const PodUser& b) {
  const auto excess = [&signal](const PodUser& user) {
    const Cow<ResourceList> requests = pod_requests(*user.spec);
    return signal.of_pod(*user.usage) - amount_of(requests, signal.resource).value();
  };
  const std::int64_t of_a = excess(a), of_b = excess(b);
  if ((of_a > 0) != (of_b > 0)) return of_a > 0;
  const auto priority_a = a.spec->priority.value_or(0), priority_b = b.spec->priority.value_or(0);
  if (priority_a != priority_b) return priority_a < priority_b;
  return of_a > of_b;
}

PodVerdict low_on(const Signal& signal, const PodUser& user, std::int64_t least,
                  std::int64_t available) {
  const auto text = [](std::int64_t bytes) {
    return Quantity::of(bytes, Quantity::Format::binary_si).str();
  };
  std::string message =
      fmt::format("The node was low on resource: {}. Threshold quantity: {}, available: {}. ",
                  signal.resource, text(least), text(available));
  for (const PodUsage::OfContainer& one : user.usage->containers) {
    const Container* container = find_container(*user.spec, one.name);
    if (container == nullptr) continue;
    const Quantity request = amount_of(container->resources.requests, signal.resource);
    if (const std::int64_t used = signal.of_container(one); Quantity::of(used) > request)
      message +=
          fmt::format("Container {} was using {}, request is {}, has larger consumption of {}. ",
                      one.name, text(used), request.str(), signal.resource);
  }
  PodVerdict verdict = evicted(message);
  verdict.disruption = std::move(message);
  return verdict;
}

std::optional<PodVerdict> refuse_under(std::span<const Signal* const> pressures,
                                       const PodSpec& spec) {
  if (pressures.empty() || is_critical(spec)) return std::nullopt;
  if (pressures.size() == 1 && pressures.front()->takes_who_asks) {
    const Taint taint{std::string(pressures.front()->taint), {}, "NoSchedule", {}};
    const bool is_tolerated =
        std::any_of(spec.tolerations.begin(), spec.tolerations.end(),
                    [&](const Toleration& one) { return tolerates(one, taint); });
    if (qos_class(spec) != QosClass::best_effort || is_tolerated) return std::nullopt;
  }
  std::string conditions;
  for (const Signal* one : pressures)
    conditions += fmt::format("{}{}", conditions.empty() ? "" : " ", one->condition);
  return evicted(fmt::format("The node had condition: [{}]. ", conditions));
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
  if (Quantity::of(usage.on_disk()) > *limit)
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
