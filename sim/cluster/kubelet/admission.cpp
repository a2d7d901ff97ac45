#include "cluster/kubelet/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace ddptwin::kubelet {
namespace {

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Operator {
  std::string_view name;
  bool (*holds)(const std::string* value, const std::vector<std::string>& wanted);
};

bool compares(const std::string* value, const std::vector<std::string>& wanted, bool greater) {
  if (value == nullptr || wanted.size() != 1) return false;
  const auto left = to_integer(*value), right = to_integer(wanted.front());
  return left && right && (greater ? *left > *right : *left < *right);
}
bool is_one_of(const std::string* value, const std::vector<std::string>& wanted) {
  return value != nullptr && std::find(wanted.begin(), wanted.end(), *value) != wanted.end();
}

constexpr std::array operators{
    Operator{"In", &is_one_of},
    Operator{"NotIn", [](const std::string* v,
                         const std::vector<std::string>& w) { return !is_one_of(v, w); }},
    Operator{"Exists",
             [](const std::string* v, const std::vector<std::string>&) { return v != nullptr; }},
    Operator{"DoesNotExist",
             [](const std::string* v, const std::vector<std::string>&) { return v == nullptr; }},
    Operator{"Gt", [](const std::string* v,
                      const std::vector<std::string>& w) { return compares(v, w, true); }},
    Operator{"Lt", [](const std::string* v,
                      const std::vector<std::string>& w) { return compares(v, w, false); }},
};

bool holds(const LabelSelectorRequirement& wanted, const std::string* value) {
  const auto row = std::find_if(operators.begin(), operators.end(),
                                [&](const Operator& o) { return o.name == wanted.operator_; });
  return row != operators.end() && row->holds(value, wanted.values);
}

bool matches_term(const NodeSelectorTerm& term, const Node& node) {
  if (term.matchExpressions.empty() && term.matchFields.empty()) return false;
  const auto by_label = [&](const LabelSelectorRequirement& wanted) {
    return holds(wanted, node.metadata.label(wanted.key));
  };
  const auto by_field = [&](const LabelSelectorRequirement& wanted) {
    return holds(wanted, wanted.key == "metadata.name" ? &node.metadata.name : nullptr);
  };
  return std::all_of(term.matchExpressions.begin(), term.matchExpressions.end(), by_label) &&
         std::all_of(term.matchFields.begin(), term.matchFields.end(), by_field);
}

PodVerdict lacks(const std::string& resource, std::int64_t requested, std::int64_t used,
                 std::int64_t capacity) {
  return PodVerdict{"OutOf" + resource,
                    fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, "
                                "capacity: {}",
                                resource, requested, used, capacity),
                    {}};
}

std::int64_t amount(const std::string& resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

// cpu, memory and ephemeral-storage, then what else the pod asks for.
std::vector<std::string> resource_names(const ResourceList& requests) {
  std::vector<std::string> names{"cpu", "memory", "ephemeral-storage"};
  for (const auto& [name, quantity] : requests)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::optional<PodVerdict> refuse_for_resources(const PodClaim& pod, const Node& node,
                                               const std::vector<PodClaim>& others) {
  const ResourceList& allocatable = node.status.allocatable;
  if (const auto room = allocatable.find("pods"); room != allocatable.end()) {
    const auto used = static_cast<std::int64_t>(others.size());
    if (used + 1 > room->second.value()) return lacks("pods", 1, used, room->second.value());
  }
  for (const std::string& name : resource_names(pod.requests)) {
    const auto request = pod.requests.find(name);
    const auto room = allocatable.find(name);
    // A resource that the node has never heard of is left out of account.
    if (request == pod.requests.end() || request->second.zero() || room == allocatable.end())
      continue;
    Quantity used;
    for (const PodClaim& other : others)
      if (const auto held = other.requests.find(name); held != other.requests.end())
        used += held->second;
    const std::int64_t capacity = amount(name, room->second);
    const std::int64_t taken = amount(name, used);
    const std::int64_t requested = amount(name, request->second);
    if (taken + requested > capacity) return lacks(name, requested, taken, capacity);
  }
  return std::nullopt;
}

using HostPort = std::tuple<std::string, std::string, std::int32_t>;  // ip, protocol, port

void add_host_ports(const Container& container, std::vector<HostPort>& ports) {
  for (const ContainerPort& port : container.ports)
    if (port.hostPort != 0)
      ports.emplace_back(port.hostIP.empty() ? "0.0.0.0" : port.hostIP, port.protocol,
                         port.hostPort);
}

// Of all that runs as long as the pod does (upstream scheduler/util GetHostPorts).
std::vector<HostPort> host_ports(const PodSpec& spec) {
  std::vector<HostPort> ports;
  for (const Container& container : spec.initContainers)
    if (is_sidecar(container)) add_host_ports(container, ports);
  for (const Container& container : spec.containers) add_host_ports(container, ports);
  return ports;
}

bool collide(const HostPort& a, const HostPort& b) {
  const auto any = [](const HostPort& port) { return std::get<0>(port) == "0.0.0.0"; };
  return std::get<1>(a) == std::get<1>(b) && std::get<2>(a) == std::get<2>(b) &&
         (std::get<0>(a) == std::get<0>(b) || any(a) || any(b));
}

bool ports_are_free(const PodClaim& pod, const std::vector<PodClaim>& others) {
  const std::vector<HostPort> wanted = host_ports(pod.spec);
  if (wanted.empty()) return true;
  return std::none_of(others.begin(), others.end(), [&](const PodClaim& other) {
    for (const HostPort& taken : host_ports(other.spec))
      for (const HostPort& port : wanted)
        if (collide(port, taken)) return true;
    return false;
  });
}

PodVerdict predicate(std::string_view name, std::string_view text) {
  return PodVerdict{std::string(name), fmt::format("Predicate {} failed: {}", name, text), {}};
}

}  // namespace

bool matches_node(const PodSpec& spec, const Node& node) {
  for (const auto& [key, value] : spec.nodeSelector) {
    const std::string* label = node.metadata.label(key);
    if (label == nullptr || *label != value) return false;
  }
  if (!spec.affinity || !spec.affinity->nodeAffinity) return true;
  const auto& required =
      spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  return std::any_of(required->nodeSelectorTerms.begin(), required->nodeSelectorTerms.end(),
                     [&](const NodeSelectorTerm& term) { return matches_term(term, node); });
}

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
