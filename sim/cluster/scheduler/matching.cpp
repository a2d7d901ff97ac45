#include "cluster/scheduler/matching.hpp"

#include <algorithm>

namespace ddptwin::scheduler {
namespace {

const std::vector<PodAffinityTerm> no_terms{};

bool in_namespaces(const PodAffinityTerm& term, const Pod& owner, const Pod& other,
                   const ClusterView& view) {
  const Text& namespace_ = other.metadata.namespace_;
  if (term.namespaces.empty() && !term.namespaceSelector)
    return namespace_ == owner.metadata.namespace_;
  if (std::find(term.namespaces.begin(), term.namespaces.end(), namespace_) !=
      term.namespaces.end())
    return true;
  if (!term.namespaceSelector) return false;
  const StringMap* labels = view.namespace_labels(namespace_.str());
  const auto matcher = LabelMatcher::from(*term.namespaceSelector);
  return labels != nullptr && matcher && matcher->matches(*labels);
}

}  // namespace

bool tolerates(const PodSpec& pod, const Taint& taint) {
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                     [&](const Toleration& t) { return ddptwin::tolerates(t, taint); });
}

bool tolerates_taints(const PodSpec& pod, const Node& node) {
  return std::all_of(node.spec.taints.begin(), node.spec.taints.end(), [&](const Taint& taint) {
    return taint.effect == "PreferNoSchedule" || tolerates(pod, taint);
  });
}

bool tolerates_cordon(const PodSpec& pod) {
  return tolerates(pod, {.key = std::string(taint_unschedulable), .effect = "NoSchedule"});
}

const Text* label_of(const Node& node, std::string_view key) { return node.metadata.label(key); }

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
    if (const Text* value = pod.metadata.label(key))
      selector.matchExpressions.push_back({key, "In", {value->str()}});
  auto matcher = LabelMatcher::from(selector);
  if (matcher && !matcher->empty()) matcher_ = std::move(*matcher);
}

}  // namespace ddptwin::scheduler
