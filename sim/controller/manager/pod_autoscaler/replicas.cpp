#include "controller/manager/pod_autoscaler/replicas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cluster/pods/budgets.hpp"

namespace ddptwin::controller::pod_autoscaler {
namespace {

// --horizontal-pod-autoscaler-cpu-initialization-period, -initial-readiness-delay
constexpr Duration cpu_initialization = 5min;
constexpr Duration initial_readiness_delay = 30s;
// Over so long a metrics server averages; what it says is of now.
constexpr Duration metrics_window = 15s;

const PodCondition* ready_condition(const Pod& pod) {
  for (const PodCondition& one : *pod.status.conditions)
    if (one.type_ == "Ready") return &one;
  return nullptr;
}

// A container that starts needs more of the processor than later: it does not count.
bool is_unready_for_cpu(const Pod& pod, Time now) {
  const PodCondition* ready = ready_condition(pod);
  const auto& started = pod.status.rest->startTime;
  if (ready == nullptr || !started) return true;
  const Time since = ready->lastTransitionTime ? *ready->lastTransitionTime : Time{};
  if (*started + cpu_initialization > now)
    return ready->status == "False" || now < since + metrics_window;
  return ready->status == "False" && *started + initial_readiness_delay > since;
}

struct Groups {
  std::int32_t ready = 0;
  std::vector<std::string> unready{}, missing{};
};

// Takes out of `values` what does not count.
Groups group(const Pods& pods, PodValues& values, std::string_view resource, Time now) {
  Groups groups;
  for (const auto& pod : pods) {
    const std::string name = pod->metadata.name.str();
    const bool is_ignored = pod->metadata.deletionTimestamp || pod->status.phase == "Failed";
    const bool is_unready =
        !is_ignored &&
        (pod->status.phase == "Pending" ||
         (resource == "cpu" && values.contains(name) && is_unready_for_cpu(*pod, now)));
    if (is_ignored || is_unready) {
      values.erase(name);
      if (is_unready) groups.unready.push_back(name);
    } else if (!values.contains(name)) {
      groups.missing.push_back(name);
    } else {
      ++groups.ready;
    }
  }
  return groups;
}

Result<PodValues> requests_of(const Pods& pods, std::string_view resource,
                              std::string_view container) {
  PodValues requests;
  for (const auto& pod : pods) {
    std::int64_t sum = 0;
    const auto add = [&](const Container& one) -> Status {
      if (!container.empty() && one.name != container) return {};
      const auto found = one.resources.requests.find(resource);
      if (found == one.resources.requests.end())
        return fail(Reason::invalid, fmt::format("missing request for {} in container {} of Pod {}",
                                                 resource, one.name, pod->metadata.name.view()));
      sum += found->second.milli_value();
      return {};
    };
    for (const Container& one : *pod->spec->containers) TRY_VOID(add(one));
    for (const Container& one : *pod->spec->initContainers)
      if (one.restartPolicy == "Always") TRY_VOID(add(one));
    requests.emplace(pod->metadata.name.str(), sum);
  }
  return requests;
}

// Of usage and target, with the usage that it is made of.
struct Ratio {
  double ratio = 0;
  std::int64_t average = 0;
  std::optional<std::int32_t> utilization{};
};
using RatioOf = std::function<Result<Ratio>(const PodValues&)>;

std::int32_t rounded_up(double value) { return static_cast<std::int32_t>(std::ceil(value)); }

// `missing_value`: what a pod without a metric is taken to use where the others use too little.
Result<Proposal> propose(const Target& target, PodValues values, const Groups& groups,
                         const RatioOf& ratio_of,
                         const std::function<std::int64_t(const std::string&)>& missing_value) {
  if (values.empty())
    return fail(Reason::not_found,
                "did not receive metrics for targeted pods (pods might be unready)");
  TRY(const Ratio first, ratio_of(values));
  const auto answer = [&first](std::int32_t replicas) {
    return Proposal{replicas, first.average, first.utilization};
  };
  const bool counts_unready = !groups.unready.empty() && first.ratio > 1.0;
  if (!counts_unready && groups.missing.empty())
    return answer(target.tolerances.hold(first.ratio) ? target.replicas
                                                      : rounded_up(first.ratio * groups.ready));
  for (const std::string& name : groups.missing) {
    if (first.ratio < 1.0)
      values[name] = missing_value(name);
    else if (first.ratio > 1.0)
      values[name] = 0;
  }
  if (counts_unready)
    for (const std::string& name : groups.unready) values[name] = 0;
  TRY(const Ratio again, ratio_of(values));
  const bool turns =
      (first.ratio < 1.0 && again.ratio > 1.0) || (first.ratio > 1.0 && again.ratio < 1.0);
  if (target.tolerances.hold(again.ratio) || turns) return answer(target.replicas);
  const std::int32_t replicas = rounded_up(again.ratio * static_cast<double>(values.size()));
  const bool contradicts = (again.ratio < 1.0 && replicas > target.replicas) ||
                           (again.ratio > 1.0 && replicas < target.replicas);
  return answer(contradicts ? target.replicas : replicas);
}

Error no_pods() {
  return {.reason = Reason::not_found,
          .message = "no pods returned by selector while calculating replica count"};
}

Result<Proposal> by_plain(const Target& target, PodValues values, std::string_view resource,
                          std::int64_t wanted, Time now) {
  if (target.pods.empty()) return fail(no_pods());
  const Groups groups = group(target.pods, values, resource, now);
  return propose(
      target, std::move(values), groups,
      [wanted](const PodValues& of) -> Result<Ratio> {
        std::int64_t sum = 0;
        for (const auto& [name, value] : of) sum += value;
        const std::int64_t average = sum / static_cast<std::int64_t>(of.size());
        return Ratio{static_cast<double>(average) / static_cast<double>(wanted), average, {}};
      },
      [wanted](const std::string&) { return wanted; });
}

Error in_words(std::string words, const Error& error) {
  return {.reason = error.reason, .message = std::move(words) + ": " + error.message};
}

Result<PodValues> used_by(const Target& target, const MetricsApi& metrics,
                          std::string_view resource, std::string_view container) {
  auto values = metrics.of_resource(target.pods, resource, container);
  if (!values)
    return fail(
        in_words(fmt::format("unable to get metrics for resource {}", resource), values.error()));
  return values;
}

}  // namespace

Result<Proposal> by_utilization(const Target& target, const MetricsApi& metrics,
                                std::string_view resource, std::string_view container,
                                std::int32_t percent, Time now) {
  TRY(auto values, used_by(target, metrics, resource, container));
  if (target.pods.empty()) return fail(no_pods());
  const Groups groups = group(target.pods, values, resource, now);
  TRY(const PodValues requests, requests_of(target.pods, resource, container));
  return propose(
      target, std::move(values), groups,
      [&](const PodValues& of) -> Result<Ratio> {
        std::int64_t used = 0, requested = 0, count = 0;
        for (const auto& [name, value] : of) {
          const auto found = requests.find(name);
          if (found == requests.end()) continue;
          used += value;
          requested += found->second;
          ++count;
        }
        if (requested == 0)
          return fail(Reason::not_found, "no metrics returned matched known pods");
        const auto utilization = static_cast<std::int32_t>(used * 100 / requested);
        return Ratio{static_cast<double>(utilization) / percent, used / count, utilization};
      },
      [&](const std::string& name) {
        return requests.at(name) * std::max<std::int64_t>(100, percent) / 100;
      });
}

Result<Proposal> by_usage(const Target& target, const MetricsApi& metrics,
                          std::string_view resource, std::string_view container,
                          std::int64_t wanted, Time now) {
  TRY(auto values, used_by(target, metrics, resource, container));
  return by_plain(target, std::move(values), resource, wanted, now);
}

Result<Proposal> by_pod_metric(const Target& target, const MetricsApi& metrics,
                               std::string_view metric, std::int64_t wanted, Time now) {
  auto values = metrics.of_pods(target.pods, metric);
  if (!values)
    return fail(in_words(fmt::format("unable to get metric {}", metric), values.error()));
  return by_plain(target, std::move(*values), {}, wanted, now);
}

Result<Proposal> by_value(const Target& target, std::int64_t value, std::int64_t wanted) {
  const double ratio = static_cast<double>(value) / static_cast<double>(wanted);
  if (target.replicas == 0) return Proposal{rounded_up(ratio), value, {}};
  if (target.tolerances.hold(ratio)) return Proposal{target.replicas, value, {}};
  if (target.pods.empty()) return fail(in_words("unable to calculate ready pods", no_pods()));
  const auto ready = std::count_if(target.pods.begin(), target.pods.end(), [](const auto& pod) {
    return pod->status.phase == "Running" && is_pod_ready(*pod);
  });
  return Proposal{rounded_up(ratio * static_cast<double>(ready)), value, {}};
}

Proposal by_average(const Target& target, std::int64_t value, std::int64_t wanted) {
  const double ratio = static_cast<double>(value) /
                       (static_cast<double>(wanted) * static_cast<double>(target.replicas_now));
  const double each = static_cast<double>(value) / static_cast<double>(target.replicas_now);
  return {target.tolerances.hold(ratio)
              ? target.replicas_now
              : rounded_up(static_cast<double>(value) / static_cast<double>(wanted)),
          target.replicas_now == 0 ? 0 : static_cast<std::int64_t>(std::ceil(each)),
          {}};
}

}  // namespace ddptwin::controller::pod_autoscaler
