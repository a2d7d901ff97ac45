#include "cluster/pods/disruption.hpp"

#include <algorithm>

namespace ddptwin {

PodCondition disruption_of(const Pod& pod, Time now, std::string_view reason,
                           std::string_view message) {
  const PodCondition* said = pod.status.condition(disruption_target);
  const bool was_true = said != nullptr && said->status == "True";
  PodCondition made;
  made.type_ = disruption_target;
  made.observedGeneration = pod.metadata.generation;
  made.status = "True";
  made.lastTransitionTime = was_true ? said->lastTransitionTime : now.floor_seconds();
  made.reason = reason;
  made.message = message;
  return made;
}

bool mark_disrupted(Pod& pod, PodCondition disruption) {
  const PodCondition* said = pod.status.condition(disruption_target);
  if (said == nullptr) {
    pod.status.conditions.edit().push_back(std::move(disruption));
    return true;
  }
  if (said->status == disruption.status && said->reason == disruption.reason &&
      said->message == disruption.message)
    return false;
  std::vector<PodCondition>& conditions = pod.status.conditions.edit();
  *std::find_if(conditions.begin(), conditions.end(), [](const PodCondition& condition) {
    return condition.type_ == disruption_target;
  }) = std::move(disruption);
  return true;
}

}  // namespace ddptwin
