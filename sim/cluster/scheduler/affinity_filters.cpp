#include "cluster/scheduler/affinity_filters.hpp"

#include <algorithm>
#include <set>

#include "cluster/scheduler/matching.hpp"
#include "objects/codec.hpp"

namespace ddptwin::scheduler {
namespace {

using Kind = ClusterEvent::Kind;
using Constraint = TopologySpreadConstraint;

constexpr std::string_view spread_text = "node(s) didn't match pod topology spread constraints";

std::vector<Constraint> hard_constraints(const Pod& pod) {
  std::vector<Constraint> hard;
  for (const Constraint& constraint : pod.spec->topologySpreadConstraints)
    if (constraint.whenUnsatisfiable == "DoNotSchedule") hard.push_back(constraint);
  return hard;
}

bool has_all_keys(const Node& node, const std::vector<Constraint>& constraints) {
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& c) { return label_of(node, c.topologyKey) != nullptr; });
}

// Whether the node's domain counts: by default its selector must match, its taints do not matter.
bool is_domain(const Constraint& constraint, const Pod& pod, const Node& node) {
  if (constraint.nodeAffinityPolicy.value_or("Honor") == "Honor" && !matches_node(*pod.spec, node))
    return false;
  return constraint.nodeTaintsPolicy.value_or("Ignore") != "Honor" ||
         (tolerates_taints(*pod.spec, node) &&
          (!node.spec.unschedulable || tolerates_cordon(*pod.spec)));
}

std::map<std::string, int> pods_by_domain(const Constraint& constraint, const Pod& pod,
                                          const std::vector<Constraint>& all,
                                          const ClusterView& view) {
  const SpreadMatcher matcher(constraint, pod);
  std::map<std::string, int> counts;
  for (const NodeInfo* node : view.nodes()) {
    if (!has_all_keys(*node->node, all) || !is_domain(constraint, pod, *node->node)) continue;
    int& count = counts[label_of(*node->node, constraint.topologyKey)->str()];
    for (const auto& [key, other] : node->pods) {
      const ObjectMeta& metadata = other.pod->metadata;
      if (metadata.namespace_ == pod.metadata.namespace_ && !metadata.deletionTimestamp &&
          matcher.matches(*other.pod))
        ++count;
    }
  }
  return counts;
}

bool is_skewed(const Constraint& constraint, const PodInfo& pod, const Node& node,
               const std::vector<Constraint>& all, const ClusterView& view) {
  const auto counts = pods_by_domain(constraint, *pod.pod, all, view);
  int least = counts.empty() ? 0 : counts.begin()->second;
  for (const auto& [domain, count] : counts) least = std::min(least, count);
  if (std::ssize(counts) < constraint.minDomains.value_or(1)) least = 0;
  const auto here = counts.find(label_of(node, constraint.topologyKey)->str());
  const bool itself = SpreadMatcher(constraint, *pod.pod).matches(*pod.pod);
  const int count = (here != counts.end() ? here->second : 0) + (itself ? 1 : 0);
  return count - least > constraint.maxSkew;
}

bool honours_taints(const std::vector<Constraint>& constraints) {
  return std::any_of(constraints.begin(), constraints.end(),
                     [](const Constraint& c) { return c.nodeTaintsPolicy == "Honor"; });
}

// Precondition: `after` has all their keys.
bool domains_changed(const Node& before, const Node& after,
                     const std::vector<Constraint>& constraints) {
  return !equal(before.spec.taints, after.spec.taints) ||
         std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& constraint) {
           const Text* old = label_of(before, constraint.topologyKey);
           return old == nullptr || *old != *label_of(after, constraint.topologyKey);
         });
}

// The pods that stand where the node stands, as the term's topology has it.
template <class Visit>
void each_in_topology(const std::string& key, const Node& node, const ClusterView& view,
                      Visit visit) {
  const Text* value = label_of(node, key);
  if (value == nullptr) return;
  for (const NodeInfo* other : view.nodes()) {
    const Text* there = label_of(*other->node, key);
    if (there == nullptr || *there != *value) continue;
    for (const auto& [pod_key, pod] : other->pods) visit(*pod.pod);
  }
}

bool matches_all(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
                 const ClusterView& view) {
  return std::all_of(terms.begin(), terms.end(), [&](const PodAffinityTerm& term) {
    return term_matches(term, owner, other, view);
  });
}

// The first of a group that wants to be together finds nobody: it may go anywhere.
bool is_first_of_its_group(const std::vector<PodAffinityTerm>& terms, const Pod& pod,
                           const Node& node, const ClusterView& view) {
  if (!matches_all(terms, pod, pod, view)) return false;
  for (const PodAffinityTerm& term : terms)
    if (label_of(node, term.topologyKey) == nullptr) return false;
  for (const NodeInfo* other : view.nodes())
    for (const auto& [key, placed] : other->pods)
      if (matches_all(terms, pod, *placed.pod, view)) return false;
  return true;
}

bool has_wanted_neighbours(const Pod& pod, const Node& node, const ClusterView& view) {
  const auto& terms = required_affinity(*pod.spec);
  if (terms.empty()) return true;
  const bool all = std::all_of(terms.begin(), terms.end(), [&](const PodAffinityTerm& term) {
    bool found = false;
    each_in_topology(term.topologyKey, node, view, [&](const Pod& other) {
      found = found || matches_all(terms, pod, other, view);
    });
    return found;
  });
  return all || is_first_of_its_group(terms, pod, node, view);
}

bool has_unwanted_neighbours(const Pod& pod, const Node& node, const ClusterView& view) {
  bool found = false;
  for (const PodAffinityTerm& term : required_anti_affinity(*pod.spec))
    each_in_topology(term.topologyKey, node, view, [&](const Pod& other) {
      found = found || term_matches(term, pod, other, view);
    });
  return found;
}

bool is_unwanted(const Pod& pod, const Node& node, const ClusterView& view) {
  for (const NodeInfo* other : view.nodes())
    for (const auto& [key, placed] : other->pods)
      for (const PodAffinityTerm& term : required_anti_affinity(*placed.pod->spec)) {
        const Text* here = label_of(node, term.topologyKey);
        const Text* there = label_of(*other->node, term.topologyKey);
        if (here != nullptr && there != nullptr && *here == *there &&
            term_matches(term, *placed.pod, pod, view))
          return true;
      }
  return false;
}

bool any_matches(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
                 const ClusterView& view) {
  return std::any_of(terms.begin(), terms.end(), [&](const PodAffinityTerm& term) {
    return term_matches(term, owner, other, view);
  });
}

bool labels_changed(const ClusterEvent& event) {
  return *event.pod_before->metadata.labels != *event.pod_after->metadata.labels;
}

}  // namespace

std::optional<Refusal> refuse_skew(const PodInfo& pod, const NodeInfo& node,
                                   const ClusterView& view) {
  const std::vector<Constraint> constraints = hard_constraints(*pod.pod);
  for (const Constraint& constraint : constraints) {
    if (label_of(*node.node, constraint.topologyKey) == nullptr)
      return Refusal{.reasons = {std::string(spread_text) + " (missing required label)"}};
    if (is_skewed(constraint, pod, *node.node, constraints, view))
      return Refusal{.reasons = {std::string(spread_text)}, .curable = true};
  }
  return std::nullopt;
}

// A node that comes or goes is a domain more or less: the least may rise with either. That a pod
// begins to end helps nobody, although it is not counted any more: the real plugin does not ask to
// hear of it (upstream podtopologyspread, EventsToRegister).
bool spread_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView&) {
  const std::vector<Constraint> constraints = hard_constraints(*pod.pod);
  if (event.kind == Kind::node_added) return has_all_keys(*event.node_after, constraints);
  if (event.kind == Kind::node_removed) return has_all_keys(*event.node_before, constraints);
  if (event.kind == Kind::node_changed) {
    const Node &before = *event.node_before, &after = *event.node_after;
    return has_all_keys(before, constraints) != has_all_keys(after, constraints) ||
           (has_all_keys(after, constraints) && domains_changed(before, after, constraints));
  }
  if (event.kind == Kind::itself_changed && honours_taints(constraints) &&
      !equal(event.pod_before->spec->tolerations, event.pod_after->spec->tolerations))
    return true;
  const auto counts = [&](const PodPtr& other, const Constraint& constraint) {
    return other && other->metadata.namespace_ == pod.pod->metadata.namespace_ &&
           SpreadMatcher(constraint, *pod.pod).matches(*other);
  };
  return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& constraint) {
    return counts(event.pod_before, constraint) != counts(event.pod_after, constraint);
  });
}

std::optional<Refusal> refuse_neighbours(const PodInfo& pod, const NodeInfo& node,
                                         const ClusterView& view) {
  if (!has_wanted_neighbours(*pod.pod, *node.node, view))
    return Refusal{.reasons = {"node(s) didn't match pod affinity rules"}};
  if (has_unwanted_neighbours(*pod.pod, *node.node, view))
    return Refusal{.reasons = {"node(s) didn't match pod anti-affinity rules"}, .curable = true};
  if (view.has_avoiding() && is_unwanted(*pod.pod, *node.node, view))
    return Refusal{.reasons = {"node(s) didn't satisfy existing pods anti-affinity rules"},
                   .curable = true};
  return std::nullopt;
}

bool neighbours_may_help(const PodInfo& pod, const ClusterEvent& event, const ClusterView& view) {
  const Pod& waiting = *pod.pod;
  if (event.kind == Kind::itself_changed) return labels_changed(event);
  if (event.kind == Kind::node_added) return true;
  if (event.kind == Kind::node_changed)
    return *event.node_before->metadata.labels != *event.node_after->metadata.labels;
  const auto wanted = [&](const PodPtr& other) {
    return other && any_matches(required_affinity(*waiting.spec), waiting, *other, view);
  };
  const auto unwanted = [&](const PodPtr& other) {
    return other && (any_matches(required_anti_affinity(*waiting.spec), waiting, *other, view) ||
                     any_matches(required_anti_affinity(*other->spec), *other, waiting, view));
  };
  if (event.kind == Kind::pod_placed) return wanted(event.pod_after);
  // Nobody thinks of who may be the first of its kind from now on (k8s#141354).
  if (event.kind == Kind::pod_freed) return unwanted(event.pod_before);
  return (wanted(event.pod_after) && !wanted(event.pod_before)) ||
         (unwanted(event.pod_before) && labels_changed(event));
}

}  // namespace ddptwin::scheduler
