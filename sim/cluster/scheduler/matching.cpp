#include "cluster/scheduler/matching.hpp"

#include <algorithm>
#include <charconv>

namespace ddptwin::scheduler {
namespace {

std::optional<std::int64_t> integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Operator {
  std::string_view name;
  bool (*holds)(const std::string* value, const std::vector<std::string>& values);
};

bool is_in(const std::string* value, const std::vector<std::string>& values) {
  return value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
}
template <class Compare>
bool compare(const std::string* value, const std::vector<std::string>& values, Compare holds) {
  if (value == nullptr || values.size() != 1) return false;
  const auto left = integer(*value), right = integer(values[0]);
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

bool holds(const LabelSelectorRequirement& requirement, const std::string* value) {
  for (const Operator& op : operators)
    if (op.name == requirement.operator_) return op.holds(value, requirement.values);
  return false;
}

const std::vector<NodeSelectorTerm>* required_terms(const PodSpec& pod) {
  if (!pod.affinity || !pod.affinity->nodeAffinity) return nullptr;
  const auto& required = pod.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  return required ? &required->nodeSelectorTerms : nullptr;
}

const std::vector<PodAffinityTerm> no_terms{};

bool in_namespaces(const PodAffinityTerm& term, const Pod& owner, const Pod& other,
                   const ClusterView& view) {
  const std::string& namespace_ = other.metadata.namespace_;
  if (term.namespaces.empty() && !term.namespaceSelector)
    return namespace_ == owner.metadata.namespace_;
  if (std::find(term.namespaces.begin(), term.namespaces.end(), namespace_) !=
      term.namespaces.end())
    return true;
  if (!term.namespaceSelector) return false;
  const StringMap* labels = view.namespace_labels(namespace_);
  const auto matcher = LabelMatcher::from(*term.namespaceSelector);
  return labels != nullptr && matcher && matcher->matches(*labels);
}

}  // namespace

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  return toleration.operator_ == "Exists" ||
         (!toleration.key.empty() && toleration.value == taint.value);
}

bool tolerates(const PodSpec& pod, const Taint& taint) {
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                     [&](const Toleration& t) { return tolerates(t, taint); });
}

bool tolerates_taints(const PodSpec& pod, const Node& node) {
  return std::all_of(node.spec.taints.begin(), node.spec.taints.end(), [&](const Taint& taint) {
    return taint.effect == "PreferNoSchedule" || tolerates(pod, taint);
  });
}

bool tolerates_cordon(const PodSpec& pod) {
  return tolerates(pod, {.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"});
}

const std::string* label_of(const Node& node, std::string_view key) {
  return node.metadata.label(key);
}

// An empty term matches nothing.
bool matches(const NodeSelectorTerm& term, const Node& node) {
  if (term.matchExpressions.empty() && term.matchFields.empty()) return false;
  return std::all_of(term.matchExpressions.begin(), term.matchExpressions.end(),
                     [&](const auto& r) { return holds(r, label_of(node, r.key)); }) &&
         std::all_of(term.matchFields.begin(), term.matchFields.end(), [&](const auto& r) {
           return r.key == "metadata.name" && holds(r, &node.metadata.name);
         });
}

bool matches_node(const PodSpec& pod, const Node& node) {
  for (const auto& [key, value] : pod.nodeSelector) {
    const std::string* label = label_of(node, key);
    if (label == nullptr || *label != value) return false;
  }
  const auto* terms = required_terms(pod);
  return terms == nullptr || std::any_of(terms->begin(), terms->end(),
                                         [&](const auto& term) { return matches(term, node); });
}

std::optional<std::vector<std::string>> named_nodes(const PodSpec& pod) {
  const auto* terms = required_terms(pod);
  if (terms == nullptr) return std::nullopt;
  std::vector<std::string> names;
  for (const NodeSelectorTerm& term : *terms) {
    const auto naming =
        std::find_if(term.matchFields.begin(), term.matchFields.end(),
                     [](const auto& r) { return r.key == "metadata.name" && r.operator_ == "In"; });
    if (naming == term.matchFields.end()) return std::nullopt;
    names.insert(names.end(), naming->values.begin(), naming->values.end());
  }
  return names;
}

bool ports_conflict(const std::vector<HostPort>& wanted, const std::vector<HostPort>& taken) {
  const auto any = [](const HostPort& port) { return port.ip == "0.0.0.0"; };
  return std::any_of(wanted.begin(), wanted.end(), [&](const HostPort& a) {
    return std::any_of(taken.begin(), taken.end(), [&](const HostPort& b) {
      return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || any(a) || any(b));
    });
  });
}

bool term_matches(const PodAffinityTerm& term, const Pod& owner, const Pod& other,
                  const ClusterView& view) {
  if (!term.labelSelector || !in_namespaces(term, owner, other, view)) return false;
  const auto matcher = LabelMatcher::from(*term.labelSelector);
  return matcher && matcher->matches(*other.metadata.labels);
}

const std::vector<PodAffinityTerm>& required_affinity(const PodSpec& pod) {
  if (!pod.affinity || !pod.affinity->podAffinity) return no_terms;
  return pod.affinity->podAffinity->requiredDuringSchedulingIgnoredDuringExecution;
}

const std::vector<PodAffinityTerm>& required_anti_affinity(const PodSpec& pod) {
  if (!pod.affinity || !pod.affinity->podAntiAffinity) return no_terms;
  return pod.affinity->podAntiAffinity->requiredDuringSchedulingIgnoredDuringExecution;
}

bool SpreadMatcher::matches(const Pod& pod) const {
  return matcher_ && matcher_->matches(*pod.metadata.labels);
}

SpreadMatcher::SpreadMatcher(const TopologySpreadConstraint& constraint, const Pod& pod) {
  if (!constraint.labelSelector) return;
  LabelSelector selector = *constraint.labelSelector;
  for (const std::string& key : constraint.matchLabelKeys)
    if (const std::string* value = pod.metadata.label(key))
      selector.matchExpressions.push_back({key, "In", {*value}});
  auto matcher = LabelMatcher::from(selector);
  if (matcher && !matcher->empty()) matcher_ = std::move(*matcher);
}

}  // namespace ddptwin::scheduler
