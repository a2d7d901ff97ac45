#include "controller/jobset/pod_webhook.hpp"

#include <fmt/format.h>

#include "controller/jobset/names.hpp"
#include "controller/toolkit/denial.hpp"

namespace ddptwin::controller::jobset {
namespace {

constexpr std::string_view mutator = "mpod.kb.io", validator = "vpod.kb.io";
constexpr std::string_view completion_index = "batch.kubernetes.io/job-completion-index";

tl::unexpected<Error> pod_denied(std::string_view webhook, std::string_view why) {
  return fail(Reason::forbidden, denied_by(webhook, why));
}

bool is_marked(const Pod& pod, std::string_view annotation) {
  return pod.metadata.annotations.contains(annotation);
}
// Of a JobSet, and not on nodes that somebody has set aside.
bool is_placed_by_webhooks(const Pod& pod) {
  return is_marked(pod, keys::jobset_name) && !is_marked(pod, keys::node_selector);
}
std::string annotation_of(const Pod& pod, std::string_view key) {
  const auto found = pod.metadata.annotations.find(key);
  return found == pod.metadata.annotations.end() ? std::string() : found->second.str();
}
std::string label_of(const Pod& pod, std::string_view key) {
  const Text* found = pod.metadata.label(key);
  return found == nullptr ? std::string() : found->str();
}
bool is_leader(const Pod& pod) { return annotation_of(pod, completion_index) == "0"; }

// NAME-REPLICATEDJOB-JOB-0, before the five letters that the server draws.
Result<std::string> leader_name(const Pod& pod) {
  std::string name;
  for (const std::string_view key : {keys::jobset_name, keys::replicated_job, keys::job_index}) {
    if (pod.metadata.label(key) == nullptr)
      return fail(Reason::unknown, fmt::format("pod missing label: {}", key));
    name += label_of(pod, key) + "-";
  }
  return name + "0";
}

// The only pod of that name that stays, if it is of the same Job.
Result<std::shared_ptr<const Pod>> leader_of(const Pod& pod, const Surroundings& around) {
  TRY(const std::string name, leader_name(pod));
  std::vector<std::shared_ptr<const Pod>> found;
  for (const auto& one : around.pods(pod.metadata.namespace_)) {
    const std::string_view whole = one->metadata.name.view();
    if (is_marked(*one, keys::exclusive) && !one->metadata.deletionTimestamp &&
        whole.substr(0, whole.rfind('-')) == name)
      found.push_back(one);
  }
  if (found.size() != 1)
    return fail(Reason::unknown,
                fmt::format("expected 1 leader pod ({}), but got {}. this is an expected, "
                            "transient error",
                            name, found.size()));
  const OwnerReference *own = pod.metadata.controller(),
                       *its = found.front()->metadata.controller();
  if (own == nullptr) return fail(Reason::unknown, "follower pod has no owner reference");
  if (its == nullptr)
    return fail(Reason::unknown, fmt::format("leader pod \"{}\" has no owner reference",
                                             found.front()->metadata.name.view()));
  if (own->uid != its->uid)
    return fail(Reason::unknown,
                fmt::format("follower pod owner UID ({}) != leader pod owner UID ({})",
                            own->uid.view(), its->uid.view()));
  return found.front();
}

LabelSelectorRequirement asks(std::string_view key, std::string_view how,
                              std::vector<std::string> values = {}) {
  return {std::string(key), std::string(how), std::move(values)};
}

PodAffinityTerm term_of(const Pod& pod, std::vector<LabelSelectorRequirement> asked) {
  PodAffinityTerm term;
  term.labelSelector.emplace().matchExpressions = std::move(asked);
  term.topologyKey = annotation_of(pod, keys::exclusive);
  term.namespaceSelector.emplace();
  return term;
}

// With its own Job's pods, and with no other Job's of its priority.
void draw_domain(Pod& pod, const Profile& profile) {
  const std::string job = label_of(pod, keys::job_key);
  std::vector<LabelSelectorRequirement> others{asks(keys::job_key, "Exists"),
                                               asks(keys::job_key, "NotIn", {job})};
  if (profile.priority_label)
    others.push_back(asks(keys::priority, "In", {label_of(pod, keys::priority)}));
  Affinity& affinity = pod.spec.edit().affinity.edit();
  if (!affinity.podAffinity) affinity.podAffinity.emplace();
  if (!affinity.podAntiAffinity) affinity.podAntiAffinity.emplace();
  affinity.podAffinity->requiredDuringSchedulingIgnoredDuringExecution.push_back(
      term_of(pod, {asks(keys::job_key, "In", {job})}));
  affinity.podAntiAffinity->requiredDuringSchedulingIgnoredDuringExecution.push_back(
      term_of(pod, std::move(others)));
}

// Without a leader that has a node it is left as it is, and refused later.
Status follow(Pod& pod, const Surroundings& around) {
  const auto leader = leader_of(pod, around);
  if (!leader || (*leader)->spec->nodeName.empty()) return {};
  const std::string& node_name = (*leader)->spec->nodeName;
  const auto node = around.node(node_name);
  if (node == nullptr) return pod_denied(mutator, fmt::format("Node \"{}\" not found", node_name));
  const std::string key = annotation_of(pod, keys::exclusive);
  const Text* domain = node->metadata.label(key);
  if (domain == nullptr) return pod_denied(mutator, "node does not have topology label: " + key);
  pod.spec.edit().nodeSelector.edit().insert_or_assign(Text(key), *domain);
  return {};
}

}  // namespace

Status place(Pod& pod, const Surroundings& around, const Profile& profile) {
  if (!is_placed_by_webhooks(pod)) return {};
  if (profile.priority_label && pod.spec->priority)
    pod.metadata.labels.edit().insert_or_assign(Text(keys::priority),
                                                Text(std::to_string(*pod.spec->priority)));
  if (!is_marked(pod, keys::exclusive)) return {};
  if (!is_leader(pod)) return follow(pod, around);
  draw_domain(pod, profile);
  return {};
}

Status review_placement(const Pod& pod, const Surroundings& around) {
  if (!is_placed_by_webhooks(pod) || !is_marked(pod, keys::exclusive) || is_leader(pod)) return {};
  const std::string key = annotation_of(pod, keys::exclusive);
  if (pod.spec->nodeSelector.empty())
    return pod_denied(validator, "follower pod node selector not set");
  if (!pod.spec->nodeSelector.contains(key))
    return pod_denied(validator,
                      "follower pod node selector for topology domain not found. missing "
                      "selector: " +
                          key);
  const auto leader = leader_of(pod, around);
  if (!leader) return pod_denied(validator, leader.error().message);
  if ((*leader)->spec->nodeName.empty())
    return pod_denied(validator,
                      "leader pod not yet scheduled, not creating follower pod. this is an "
                      "expected, transient error");
  return {};
}

}  // namespace ddptwin::controller::jobset
