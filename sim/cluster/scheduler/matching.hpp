// The questions that filters, scores and retries share: taints and tolerations, pod affinity terms
// (spec/kubernetes.md §3.1). Pure.
#pragma once

#include "cluster/pods/placement.hpp"
#include "cluster/scheduler/cluster_view.hpp"
#include "objects/selector.hpp"

namespace ddptwin::scheduler {

bool tolerates(const PodSpec& pod, const Taint& taint);
// Every taint that keeps pods away (NoSchedule, NoExecute) is tolerated.
bool tolerates_taints(const PodSpec& pod, const Node& node);
bool tolerates_cordon(const PodSpec& pod);

// The only nodes that the pod's affinity can mean, where every term names nodes (matchFields
// metadata.name In); nothing where it does not.
std::optional<std::vector<std::string>> named_nodes(const PodSpec& pod);

// Whether `other` is one that `term`, a term of `owner`, speaks of. A null view: namespaces by
// selector match nothing.
bool term_matches(const PodAffinityTerm& term, const Pod& owner, const Pod& other,
                  const ClusterView& view);
const std::vector<PodAffinityTerm>& required_affinity(const PodSpec& pod);
const std::vector<PodAffinityTerm>& required_anti_affinity(const PodSpec& pod);

// The pods that a spread constraint of `pod` counts, by their labels: none where its selector is
// missing or empty (upstream podtopologyspread, countPodsMatchSelector).
class SpreadMatcher {
 public:
  SpreadMatcher(const TopologySpreadConstraint& constraint, const Pod& pod);
  bool matches(const Pod& pod) const;

 private:
  std::optional<LabelMatcher> matcher_{};
};

const Text* label_of(const Node& node, std::string_view key);

}  // namespace ddptwin::scheduler
