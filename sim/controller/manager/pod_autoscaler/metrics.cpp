#include "controller/manager/pod_autoscaler/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddptwin::controller::pod_autoscaler {
namespace {

std::string_view container_of(const Measured& row, const Pod& pod) {
  if (!row.container.empty()) return row.container;
  return pod.spec->containers->empty() ? std::string_view() : pod.spec->containers->front().name;
}

}  // namespace

bool MetricsApi::any(const std::function<bool(const Measured&)>& is) const {
  return std::any_of(rows_.begin(), rows_.end(), is);
}

// A container of which nothing was said uses nothing.
Result<PodValues> MetricsApi::of_resource(const Pods& pods, std::string_view resource,
                                          std::string_view container) const {
  if (!any([](const Measured& row) { return !row.resources.empty(); }))
    return fail(Reason::not_found,
                "unable to fetch metrics from resource metrics API: the server could not find the "
                "requested resource (get pods.metrics.k8s.io)");
  PodValues found;
  bool any_pod = false;
  for (const auto& pod : pods) {
    if (pod->status.phase != "Running") continue;
    std::map<std::string, std::int64_t, std::less<>> used;
    bool is_measured = false;
    for (const Measured& row : rows_) {
      if (row.resources.empty() || !row.of || !row.of(*pod)) continue;
      any_pod = true;
      const auto value = row.resources.find(resource);
      if (value == row.resources.end()) continue;
      is_measured = true;
      used.insert_or_assign(std::string(container_of(row, *pod)), value->second.milli_value());
    }
    if (!is_measured) continue;
    const auto& containers = *pod->spec->containers;
    if (!container.empty() && std::none_of(containers.begin(), containers.end(),
                                           [&](const auto& c) { return c.name == container; }))
      return fail(
          Reason::not_found,
          fmt::format("failed to get container metrics: container {} not present in "
                      "metrics for pod {}/{}",
                      container, pod->metadata.namespace_.view(), pod->metadata.name.view()));
    std::int64_t& sum = found[pod->metadata.name.str()];
    for (const auto& [name, value] : used)
      if (container.empty() || name == container) sum += value;
  }
  if (!any_pod) return fail(Reason::not_found, "no metrics returned from resource metrics API");
  return found;
}

std::optional<std::int64_t> MetricsApi::value_of(const Object* object,
                                                 std::string_view metric) const {
  for (auto at = rows_.rbegin(); at != rows_.rend(); ++at) {
    const Measured& row = *at;
    const auto value = row.values.find(metric);
    if (value == row.values.end()) continue;
    if (object == nullptr ? !row.of : row.of && row.of(*object)) return value->second.milli_value();
  }
  return std::nullopt;
}

Result<PodValues> MetricsApi::of_pods(const Pods& pods, std::string_view metric) const {
  constexpr std::string_view failed = "unable to fetch metrics from custom metrics API: ";
  if (!any([](const Measured& row) { return row.of && !row.values.empty(); }))
    return fail(Reason::not_found,
                std::string(failed) + "no custom metrics API (custom.metrics.k8s.io) registered");
  PodValues found;
  for (const auto& pod : pods)
    if (const auto value = value_of(pod.get(), metric))
      found.emplace(pod->metadata.name.str(), *value);
  if (found.empty()) return fail(Reason::not_found, "no metrics returned from custom metrics API");
  return found;
}

Result<std::int64_t> MetricsApi::of_object(const Object* object, std::string_view resource,
                                           std::string_view name, std::string_view metric) const {
  constexpr std::string_view failed = "unable to fetch metrics from custom metrics API: ";
  if (!any([](const Measured& row) { return row.of && !row.values.empty(); }))
    return fail(Reason::not_found,
                std::string(failed) + "no custom metrics API (custom.metrics.k8s.io) registered");
  if (object != nullptr)
    if (const auto value = value_of(object, metric)) return *value;
  return fail(Reason::not_found, fmt::format("{}the server could not find the metric {} for {} {}",
                                             failed, metric, resource, name));
}

Result<std::int64_t> MetricsApi::of_nothing(std::string_view metric) const {
  if (!any([](const Measured& row) { return !row.of && !row.values.empty(); }))
    return fail(
        Reason::not_found,
        fmt::format("unable to fetch metrics from external metrics API: the server could not find "
                    "the requested resource (get {}.external.metrics.k8s.io)",
                    metric));
  if (const auto value = value_of(nullptr, metric)) return *value;
  return fail(Reason::not_found, "no metrics returned from external metrics API");
}

}  // namespace ddptwin::controller::pod_autoscaler
