// fieldRef and resourceFieldRef: values of the pod itself (spec/kubernetes.md §2.9; upstream
// fieldpath and the downward API's conversions).
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "cluster/kubelet/env.hpp"
#include "cluster/pods/resources.hpp"
#include "objects/validation.hpp"

namespace ddptwin::kubelet {
namespace {

std::string joined(const std::vector<std::string>& list) {
  return fmt::format("{}", fmt::join(list, ","));
}

struct FieldRow {
  std::string_view path;
  std::string (*value)(const PodContext&);
};

// A whole map as a file of lines: key="escaped value", sorted.
std::string map_lines(const StringMap& map);

constexpr std::array field_rows{
    FieldRow{"metadata.name", [](const PodContext& c) { return c.pod->metadata.name.str(); }},
    FieldRow{"metadata.namespace",
             [](const PodContext& c) { return c.pod->metadata.namespace_.str(); }},
    FieldRow{"metadata.uid", [](const PodContext& c) { return c.pod->metadata.uid.str(); }},
    FieldRow{"metadata.labels",
             [](const PodContext& c) { return map_lines(*c.pod->metadata.labels); }},
    FieldRow{"metadata.annotations",
             [](const PodContext& c) { return map_lines(*c.pod->metadata.annotations); }},
    FieldRow{"spec.nodeName", [](const PodContext& c) { return c.pod->spec->nodeName; }},
    FieldRow{"spec.serviceAccountName",
             [](const PodContext& c) { return c.pod->spec->rest->serviceAccountName; }},
    FieldRow{"status.hostIP", [](const PodContext& c) { return c.node_ip; }},
    FieldRow{"status.hostIPs", [](const PodContext& c) { return c.node_ip; }},
    FieldRow{"status.podIP",
             [](const PodContext& c) { return c.pod_ips.empty() ? "" : c.pod_ips.front(); }},
    FieldRow{"status.podIPs", [](const PodContext& c) { return joined(c.pod_ips); }},
};

std::string map_lines(const StringMap& map) {
  std::string out;
  for (const auto& [key, value] : map) {
    if (!out.empty()) out += '\n';
    out += key + "=" + quoted(value);
  }
  return out;
}

// metadata.labels['key'] -> {metadata.labels, key}
std::optional<std::pair<std::string_view, std::string_view>> subscript(std::string_view path) {
  const std::size_t open = path.find("['");
  if (open == std::string_view::npos || open == 0 || !path.ends_with("']")) return std::nullopt;
  return std::pair{path.substr(0, open), path.substr(open + 2, path.size() - open - 4)};
}

std::string entry_of(const StringMap& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second.str();
}

// ---- resources

const Quantity* find(const ResourceList& list, std::string_view name) {
  const auto found = list.find(name);
  return found == list.end() ? nullptr : &found->second;
}

// A limit that is not set is what the node can give.
Quantity limit_or_allocatable(const PodContext& context, const Container& container,
                              std::string_view name) {
  const Quantity* limit = find(container.resources.limits, name);
  if (limit != nullptr && !limit->zero()) return *limit;
  const Quantity* allocatable =
      context.node ? find(context.node->status.allocatable, name) : nullptr;
  return allocatable != nullptr ? *allocatable : Quantity();
}

std::string divided(std::int64_t value, std::int64_t divisor) {
  return std::to_string(static_cast<std::int64_t>(
      std::ceil(static_cast<double>(value) / static_cast<double>(divisor))));
}

const Container* container_of(const PodSpec& spec, const std::string& name) {
  for (const auto* list : {&spec.containers, &spec.initContainers})
    for (const Container& container : *list)
      if (container.name == name) return &container;
  return nullptr;
}

bool is_measured(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}

}  // namespace

Result<std::string> field_value(const PodContext& context, std::string_view path) {
  if (const auto parts = subscript(path)) {
    if (parts->first == "metadata.labels")
      return entry_of(*context.pod->metadata.labels, parts->second);
    if (parts->first == "metadata.annotations")
      return entry_of(*context.pod->metadata.annotations, parts->second);
    return fail(Reason::bad_request,
                fmt::format("field label does not support subscript: {}", path));
  }
  for (const FieldRow& row : field_rows)
    if (row.path == path) return row.value(context);
  return fail(Reason::bad_request, fmt::format("unsupported fieldPath: {}", path));
}

Result<std::string> resource_value(const PodContext& context, const ResourceFieldSelector& selector,
                                   const Container* container) {
  if (!selector.containerName.empty()) {
    container = container_of(*context.pod->spec, selector.containerName);
    if (container == nullptr)
      return fail(Reason::not_found, fmt::format("container {} not found", selector.containerName));
  }
  const std::string_view resource = selector.resource;
  const bool is_limit = resource.starts_with("limits.");
  const std::size_t dot = resource.find('.');
  const std::string_view name = dot == std::string_view::npos ? "" : resource.substr(dot + 1);
  if (container == nullptr || !is_measured(name) ||
      (!is_limit && !resource.starts_with("requests.")))
    return fail(Reason::bad_request, fmt::format("Unsupported container resource : {}", resource));
  const Quantity* request = find(container->resources.requests, name);
  const Quantity amount = is_limit             ? limit_or_allocatable(context, *container, name)
                          : request != nullptr ? *request
                                               : Quantity();
  const Quantity divisor =
      selector.divisor && !selector.divisor->zero() ? *selector.divisor : Quantity::of(1);
  return name == "cpu" ? divided(amount.milli_value(), divisor.milli_value())
                       : divided(amount.value(), divisor.value());
}

}  // namespace ddptwin::kubelet
