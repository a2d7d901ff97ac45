// What is wrong with a pod that is not over yet, told as events of the job (spec/pytorchjob.md
// §4.2 M7, §5.4).
#include <algorithm>

#include "controller/training_operator/pass.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

void report_container(Pass& pass, const Pod& pod, const ContainerStatus& status) {
  const auto start = [&] { return "Error pod " + pod.metadata.name + " container " + status.name; };
  if (const auto& end = status.state.terminated; end && end->exitCode != 0)
    pass.event(rules::abnormal_pod, warning, end->reason,
               start() + " exitCode: " + std::to_string(end->exitCode) +
                   " terminated message: " + end->message);
  if (const auto& wait = status.state.waiting; wait && !wait->message.empty())
    pass.event(rules::abnormal_pod, warning, wait->reason,
               start() + " waiting message: " + wait->message);
}

void report_condition(Pass& pass, const Pod& pod) {
  const auto& conditions = pod.status.conditions;
  if (conditions.empty()) return;
  const auto newest =
      std::max_element(conditions.begin(), conditions.end(), [](const auto& a, const auto& b) {
        return a.lastTransitionTime.value_or(Time()) < b.lastTransitionTime.value_or(Time());
      });
  if (newest->status == "True") return;
  pass.event(rules::abnormal_pod, warning, newest->reason,
             "Error pod " + pod.metadata.name + " condition message: " + newest->message);
}

}  // namespace

void report_abnormal_pods(Pass& pass) {
  for (const Pod* pod : pass.seen.pods) {
    if (!is_active(*pod)) continue;
    const PodStatus& status = pod->status;
    // Containers that have a status mean that the init containers are done.
    const auto& statuses =
        status.containerStatuses.empty() ? status.initContainerStatuses : status.containerStatuses;
    for (const ContainerStatus& container : statuses) report_container(pass, *pod, container);
    if (statuses.empty()) report_condition(pass, *pod);
  }
}

}  // namespace ddptwin::controller::pytorchjob
