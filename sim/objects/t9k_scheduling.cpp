#include "objects/t9k_scheduling.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {

const Type& T9kPodGroupSpec::type() {
  using S = T9kPodGroupSpec;
  static const Type t = structure<S>("v1beta1.T9kPodGroupSpec",
                                     {F(minMember, .always = true), F(priority), F(queue)});
  return t;
}
const Type& T9kPodGroupCondition::type() {
  using S = T9kPodGroupCondition;
  static const Type t = structure<S>(
      "v1beta1.T9kPodGroupCondition",
      {F(lastTransitionTime), F(message), F(reason), F(status), F(type_, .always = true)});
  return t;
}
const Type& T9kPodGroupStatus::type() {
  using S = T9kPodGroupStatus;
  static const Type t = structure<S>("v1beta1.T9kPodGroupStatus", {F(conditions)});
  return t;
}
const Type& T9kPodGroup::type() {
  using S = T9kPodGroup;
  static const Type t = structure<S>("v1beta1.T9kPodGroup", {F(metadata), F(spec), F(status)});
  return t;
}
const Type& T9kQueueQuota::type() {
  using S = T9kQueueQuota;
  static const Type t = structure<S>("v1beta1.T9kQueueQuota", {F(requests)});
  return t;
}
const Type& T9kQueueSpec::type() {
  using S = T9kQueueSpec;
  static const Type t = structure<S>(
      "v1beta1.T9kQueueSpec",
      {F(priority), F(preemptible), F(closed), F(quota), F(maxDuration), F(nodeSelector)});
  return t;
}
const Type& T9kQueue::type() {
  using S = T9kQueue;
  static const Type t = structure<S>("v1beta1.T9kQueue", {F(metadata), F(spec)});
  return t;
}

const KindInfo& T9kPodGroup::info() {
  static const KindInfo kind{
      .group = "scheduler.tensorstack.dev",
      .version = "v1beta1",
      .kind = "PodGroup",
      .plural = "podgroups",
      .singular = "podgroup",
      .status = true,
      .custom = true,
      .type = &T9kPodGroup::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<T9kPodGroup>(); },
      .columns = {{.name = "Queue", .type = "string", .json_path = ".spec.queue"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

const KindInfo& T9kQueue::info() {
  static const KindInfo kind{
      .group = "scheduler.tensorstack.dev",
      .version = "v1beta1",
      .kind = "Queue",
      .plural = "queues",
      .singular = "queue",
      .namespaced = false,
      .custom = true,
      .type = &T9kQueue::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<T9kQueue>(); },
      .columns = {{.name = "Priority", .type = "integer", .json_path = ".spec.priority"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

}  // namespace ddptwin
