#include "cluster/pods/placement.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "core/numbers.hpp"

namespace ddptwin {
namespace {

struct Operator {
  std::string_view name;
  bool (*holds)(const Text* value, const std::vector<std::string>& values);
};

bool is_in(const Text* value, const std::vector<std::string>& values) {
  return value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
}
template <class Compare>
bool compare(const Text* value, const std::vector<std::string>& values, Compare holds) {
  if (value == nullptr || values.size() != 1) return false;
  const auto left = go_integer<std::int64_t>(*value), right = go_integer<std::int64_t>(values[0]);
  return left && right && holds(*left, *right);
}

constexpr std::array operators{
    Operator{"In", is_in},
    Operator{"NotIn", [](auto* v, auto& values) { return !is_in(v, values); }},
    Operator{"Exists", [](auto* v, auto&) { return v != nullptr; }},
    Operator{"DoesNotExist", [](auto* v, auto&) { return v == nullptr; }},
    Operator{"Gt", [](auto* v, auto& values) { return compare(v, values, std::greater<>()); }},
    Operator{"Lt", [](auto* v, auto& values) { return compare(v, values, std::less<>()); }},
};

bool holds(const LabelSelectorRequirement& requirement, const Text* value) {
  for (const Operator& op : operators)
    if (op.name == requirement.operator_) return op.holds(value, requirement.values);
  return false;
}

void add_ports(const Container& container, std::vector<HostPort>& ports) {
  for (const ContainerPort& port : container.ports)
    if (port.hostPort > 0)
      ports.push_back({port.hostIP.empty() ? "0.0.0.0" : port.hostIP,
                       port.protocol.empty() ? "TCP" : port.protocol, port.hostPort});
}

}  // namespace

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  return toleration.operator_ == "Exists" ||
         (!toleration.key.empty() && toleration.value == taint.value);
}

const std::vector<NodeSelectorTerm>* required_terms(const PodSpec& pod) {
  if (!pod.affinity || !pod.affinity->nodeAffinity) return nullptr;
  const auto& required = pod.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  return required ? &required->nodeSelectorTerms : nullptr;
}

bool matches(const NodeSelectorTerm& term, const Node& node) {
  if (term.matchExpressions.empty() && term.matchFields.empty()) return false;
  return std::all_of(term.matchExpressions.begin(), term.matchExpressions.end(),
                     [&](const auto& r) { return holds(r, node.metadata.label(r.key)); }) &&
         std::all_of(term.matchFields.begin(), term.matchFields.end(), [&](const auto& r) {
           return r.key == "metadata.name" && holds(r, &node.metadata.name);
         });
}

bool matches_node(const PodSpec& pod, const Node& node) {
  for (const auto& [key, value] : pod.nodeSelector) {
    const Text* label = node.metadata.label(key);
    if (label == nullptr || *label != value) return false;
  }
  const auto* terms = required_terms(pod);
  return terms == nullptr || std::any_of(terms->begin(), terms->end(),
                                         [&](const auto& term) { return matches(term, node); });
}

const Quantity* next_amount(ResourceList::const_iterator& at, const ResourceList& amounts,
                            std::string_view name) {
  for (; at != amounts.end(); ++at) {
    const int order = at->first.compare(name);
    if (order == 0) return &at->second;
    if (order > 0) break;
  }
  return nullptr;
}

std::vector<HostPort> host_ports(const PodSpec& pod) {
  std::vector<HostPort> ports;
  for (const Container& container : pod.initContainers)
    if (is_sidecar(container)) add_ports(container, ports);
  for (const Container& container : pod.containers) add_ports(container, ports);
  return ports;
}

bool ports_conflict(const std::vector<HostPort>& wanted, const std::vector<HostPort>& taken) {
  const auto any = [](const HostPort& port) { return port.ip == "0.0.0.0"; };
  return std::any_of(wanted.begin(), wanted.end(), [&](const HostPort& a) {
    return std::any_of(taken.begin(), taken.end(), [&](const HostPort& b) {
      return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || any(a) || any(b));
    });
  });
}

}  // namespace ddptwin
