#include "cluster/pods/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "core/numbers.hpp"

namespace ddptwin::kubelet {
namespace {

// Upstream kubelet/cm and kubelet/qos.
constexpr std::int64_t min_shares = 2;
constexpr std::int64_t max_shares = 262144;
constexpr std::int64_t quota_period = 100000;
constexpr std::int64_t min_quota = 1000;
constexpr std::int64_t guaranteed_adjust = -997;
constexpr std::int64_t best_effort_adjust = 1000;
constexpr std::int32_t node_critical = 2000001000;

std::optional<Quantity> find(const ResourceList& list, std::string_view name) {
  const auto found = list.find(name);
  return found == list.end() ? std::nullopt : std::optional(found->second);
}

Quantity amount(const ResourceList& list, std::string_view name) {
  return find(list, name).value_or(Quantity());
}

// Mostly there is but one list that says something: it is shared, not copied.
void add(Cow<ResourceList>& to, const Cow<ResourceList>& more) {
  if (to.empty()) {
    to = more;
    return;
  }
  for (const auto& [name, quantity] : more) {
    const auto [slot, fresh] = to.edit().try_emplace(name, quantity);
    if (!fresh) slot->second += quantity;
  }
}

void raise(Cow<ResourceList>& to, const Cow<ResourceList>& other) {
  if (to.empty()) {
    to = other;
    return;
  }
  for (const auto& [name, quantity] : other) {
    const auto known = to.find(name);
    if (known == to.end() || known->second < quantity) to.edit()[name] = quantity;
  }
}

// Containers run together; init containers one after the other, each beside the sidecars before it.
Cow<ResourceList> total(const PodSpec& spec, Cow<ResourceList> ResourceRequirements::*list) {
  Cow<ResourceList> sum;
  for (const Container& container : spec.containers) add(sum, container.resources.*list);
  Cow<ResourceList> sidecars;
  Cow<ResourceList> largest;
  for (const Container& container : spec.initContainers) {
    Cow<ResourceList> step = sidecars;
    add(step, container.resources.*list);
    if (is_sidecar(container)) sidecars = step;
    raise(largest, step);
  }
  add(sum, sidecars);
  raise(sum, largest);
  if (spec.resources)
    for (const auto& [name, quantity] : (*spec.resources).*list) sum.edit()[name] = quantity;
  return sum;
}

// protojson writes 64-bit numbers as strings and leaves zeros out.
void put(boost::json::object& to, std::string_view key, std::int64_t value) {
  if (value != 0) to[key] = std::to_string(value);
}

boost::json::object linux_resources(const std::optional<Quantity>& cpu_request,
                                    const Quantity& cpu_limit, const Quantity& memory) {
  boost::json::object out;
  put(out, "cpuPeriod", quota_period);
  put(out, "cpuQuota", cpu_quota(cpu_limit.milli_value()));
  put(out, "cpuShares", cpu_shares(cpu_request.value_or(cpu_limit).milli_value()));
  put(out, "memoryLimitInBytes", memory.value());
  return out;
}

std::int64_t burstable_adjust(std::int64_t memory_request, std::int64_t capacity) {
  return capacity <= 0 ? best_effort_adjust
                       : best_effort_adjust - best_effort_adjust * memory_request / capacity;
}

// Whether each container has limits for CPU and memory that its requests equal.
struct QosTally {
  struct Sums {
    Quantity request{}, limit{};
  };
  Sums cpu{}, memory{};
  bool all_limited = true, any = false;

  void take(const ResourceRequirements& resources) {
    take(resources, "cpu", cpu);
    take(resources, "memory", memory);
  }
  void take(const ResourceRequirements& resources, std::string_view name, Sums& sums) {
    const Quantity request = amount(resources.requests, name);
    const Quantity limit = amount(resources.limits, name);
    sums.request += request;
    sums.limit += limit;
    if (!request.zero() || !limit.zero()) any = true;
    if (limit.zero()) all_limited = false;
  }
  bool all_equal() const { return cpu.request == cpu.limit && memory.request == memory.limit; }
};

}  // namespace

QosClass qos_class(const PodSpec& spec) {
  QosTally tally;
  if (spec.resources && !(spec.resources->requests.empty() && spec.resources->limits.empty())) {
    tally.take(*spec.resources);
  } else {
    for (const auto* list : {&spec.containers, &spec.initContainers})
      for (const Container& container : *list) tally.take(container.resources);
  }
  if (!tally.any) return QosClass::best_effort;
  return tally.all_limited && tally.all_equal() ? QosClass::guaranteed : QosClass::burstable;
}

std::string_view to_string(QosClass qos) {
  static constexpr std::array<std::string_view, 3> names{"Guaranteed", "Burstable", "BestEffort"};
  return names[static_cast<std::size_t>(qos)];
}

std::int64_t cpu_shares(std::int64_t milli_cpu) {
  if (milli_cpu == 0) return min_shares;
  return std::clamp(milli_cpu * 1024 / 1000, min_shares, max_shares);
}

std::int64_t cpu_quota(std::int64_t milli_cpu) {
  return milli_cpu == 0 ? 0 : std::max(min_quota, milli_cpu * quota_period / 1000);
}

Cow<ResourceList> pod_requests(const PodSpec& spec) {
  return total(spec, &ResourceRequirements::requests);
}
Cow<ResourceList> pod_limits(const PodSpec& spec) {
  return total(spec, &ResourceRequirements::limits);
}

bool surely_ask_the_same(const PodSpec& left, const PodSpec& right) {
  const auto is_same = [](const Container& a, const Container& b) {
    return a.resources.requests.same_as(b.resources.requests) &&
           a.resources.limits.same_as(b.resources.limits) && a.restartPolicy == b.restartPolicy;
  };
  const auto are_same = [&](const Cow<std::vector<Container>>& a,
                            const Cow<std::vector<Container>>& b) {
    return a.same_as(b) || std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same);
  };
  return left.resources.same_as(right.resources) && are_same(left.containers, right.containers) &&
         are_same(left.initContainers, right.initContainers);
}

std::optional<std::int64_t> pod_memory_limit(const PodSpec& spec) {
  const auto is_limited = [](const Container& container) {
    return !amount(container.resources.limits, "memory").zero();
  };
  const bool is_known =
      (spec.resources && !amount(spec.resources->limits, "memory").zero()) ||
      (std::all_of(spec.containers.begin(), spec.containers.end(), is_limited) &&
       std::all_of(spec.initContainers.begin(), spec.initContainers.end(), is_limited));
  return is_known ? std::optional(amount(pod_limits(spec), "memory").value()) : std::nullopt;
}

std::optional<std::int64_t> memory_limit(const PodSpec& spec, const Container& container) {
  Quantity limit = amount(container.resources.limits, "memory");
  if (limit.zero() && spec.resources) limit = amount(spec.resources->limits, "memory");
  return limit.zero() ? std::nullopt : std::optional(limit.value());
}

std::int64_t oom_score_adj(const PodSpec& spec, const Node* node, const Container& container) {
  const QosClass qos = qos_class(spec);
  if (spec.priority.value_or(0) >= node_critical || qos == QosClass::guaranteed)
    return guaranteed_adjust;
  if (qos == QosClass::best_effort) return best_effort_adjust;
  const std::int64_t capacity =
      node != nullptr ? amount(node->status.capacity, "memory").value() : 0;
  std::int64_t adjust =
      burstable_adjust(amount(container.resources.requests, "memory").value(), capacity);
  if (is_sidecar(container))  // not to be killed before any of the containers that it serves
    for (const Container& main : spec.containers)
      adjust = std::min(
          adjust, burstable_adjust(amount(main.resources.requests, "memory").value(), capacity));
  return std::clamp(adjust, best_effort_adjust + guaranteed_adjust, best_effort_adjust - 1);
}

RawJson container_resources(const PodSpec& spec, const Node* node, const Container& container) {
  Quantity cpu_limit = amount(container.resources.limits, "cpu");
  if (cpu_limit.zero() && spec.resources) cpu_limit = amount(spec.resources->limits, "cpu");
  const std::int64_t memory = memory_limit(spec, container).value_or(0);
  boost::json::object out =
      linux_resources(find(container.resources.requests, "cpu"), cpu_limit, Quantity::of(memory));
  put(out, "memorySwapLimitInBytes", memory);
  put(out, "oomScoreAdj", oom_score_adj(spec, node, container));
  return RawJson(std::move(out));
}

RawJson sandbox_resources(const PodSpec& spec) {
  const Cow<ResourceList> limits = pod_limits(spec);
  return RawJson(linux_resources(find(pod_requests(spec), "cpu"), amount(limits, "cpu"),
                                 amount(limits, "memory")));
}

RawJson overhead_resources(const PodSpec& spec) {
  if (spec.overhead.empty()) return RawJson(boost::json::object());
  const Quantity cpu = amount(spec.overhead, "cpu");
  return RawJson(linux_resources(cpu, cpu, amount(spec.overhead, "memory")));
}

}  // namespace ddptwin::kubelet
