#include "cluster/kubelet/restart_policy.hpp"

#include <algorithm>

namespace ddptwin::kubelet {
namespace {

constexpr std::int32_t any_failure = 1;

bool matches(const ExitCodesRule& rule, std::int32_t exit_code) {
  const bool listed =
      std::find(rule.values.begin(), rule.values.end(), exit_code) != rule.values.end();
  return rule.operator_ == "In" ? listed : !listed;
}

bool restarts_under(std::string_view policy, std::int32_t exit_code) {
  if (policy == "Never") return false;
  if (policy == "OnFailure") return exit_code != 0;
  return true;
}

// A plain init container that has succeeded is not run again under Always.
std::string_view policy_of(const PodSpec& spec, const Container& container) {
  if (container.restartPolicy) return *container.restartPolicy;
  const bool init = std::any_of(spec.initContainers.begin(), spec.initContainers.end(),
                                [&](const Container& c) { return c.name == container.name; });
  if (init && spec.restartPolicy != "Never") return "OnFailure";
  return spec.restartPolicy;
}

}  // namespace

const Container* find_container(const PodSpec& spec, std::string_view name) {
  for (const auto* list : {&spec.containers, &spec.initContainers})
    for (const Container& container : *list)
      if (container.name == name) return &container;
  return nullptr;
}

RestartDecision after_exit(const PodSpec& spec, const Container& container,
                           std::int32_t exit_code) {
  for (const ContainerRestartRule& rule : container.restartPolicyRules) {
    if (!rule.exitCodes || !matches(*rule.exitCodes, exit_code)) continue;
    return rule.action == "RestartAllContainers" ? RestartDecision::restart_all
                                                 : RestartDecision::restart;
  }
  return restarts_under(policy_of(spec, container), exit_code) ? RestartDecision::restart
                                                               : RestartDecision::stay;
}

bool restarts_on_failure(const PodSpec& spec, const Container& container) {
  return policy_of(spec, container) != "Never" ||
         after_exit(spec, container, any_failure) == RestartDecision::restart;
}

bool wants_start(const Pod& pod, const Container& container, const PodRuntimeState& state) {
  if (pod.metadata.deletionTimestamp) return false;
  const ContainerInstance* last = state.find(container.name);
  if (last == nullptr || last->stage == ContainerStage::created) return true;
  if (last->stage == ContainerStage::running) return false;
  return after_exit(*pod.spec, container, last->exit_code) != RestartDecision::stay;
}

bool has_restart_all_rule(const PodSpec& spec) {
  const auto has = [](const Container& container) {
    return std::any_of(
        container.restartPolicyRules.begin(), container.restartPolicyRules.end(),
        [](const ContainerRestartRule& rule) { return rule.action == "RestartAllContainers"; });
  };
  return std::any_of(spec.containers.begin(), spec.containers.end(), has) ||
         std::any_of(spec.initContainers.begin(), spec.initContainers.end(), has);
}

}  // namespace ddptwin::kubelet
