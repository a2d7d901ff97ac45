#include "objects/pod_groups.hpp"

#include <array>
#include <boost/json.hpp>

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/schema_of_type.hpp"

namespace ddptwin {
namespace {

using What = SchemaNote::What;

RawJson schema_with(const Type& type, std::span<const SchemaNote> notes) {
  Json out = schema_of(type, notes);
  out.get_object()["properties"].get_object().erase("metadata");
  return RawJson(std::move(out));
}

constexpr std::array coscheduling_notes{
    SchemaNote{"v1alpha1.PodGroupSpec", "minMember", What::minimum, "1"}};
constexpr std::array volcano_notes{
    SchemaNote{"v1beta1.PodGroupSpec", "queue", What::fallback, "\"default\""},
    SchemaNote{"v1beta1.PodGroupSpec", "minMember", What::minimum, "0"},
    SchemaNote{"v1beta1.PodGroupStatus", "phase", What::allowed,
               "Pending,Running,Unknown,Inqueue,Completed"}};

}  // namespace

const Type& CoschedulingGroupSpec::type() {
  using S = CoschedulingGroupSpec;
  static const Type t = structure<S>("v1alpha1.PodGroupSpec",
                                     {F(minMember), F(minResources), F(scheduleTimeoutSeconds)});
  return t;
}
const Type& CoschedulingGroupStatus::type() {
  using S = CoschedulingGroupStatus;
  static const Type t = structure<S>(
      "v1alpha1.PodGroupStatus", {F(phase), F(occupiedBy), F(running), F(succeeded), F(failed)});
  return t;
}
const Type& CoschedulingGroup::type() {
  using S = CoschedulingGroup;
  static const Type t = structure<S>("v1alpha1.PodGroup", {F(metadata), F(spec), F(status)});
  return t;
}
const KindInfo& CoschedulingGroup::info() {
  static const KindInfo kind{
      .group = "scheduling.x-k8s.io",
      .version = "v1alpha1",
      .kind = "PodGroup",
      .plural = "podgroups",
      .singular = "podgroup",
      .status = true,
      .custom = true,
      .schema = schema_with(CoschedulingGroup::type(), coscheduling_notes),
      .type = &CoschedulingGroup::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<CoschedulingGroup>(); },
      .columns = {{.name = "Phase", .type = "string", .json_path = ".status.phase"},
                  {.name = "MinMember", .type = "integer", .json_path = ".spec.minMember"},
                  {.name = "Running", .type = "integer", .json_path = ".status.running"},
                  {.name = "Succeeded", .type = "integer", .json_path = ".status.succeeded"},
                  {.name = "Failed", .type = "integer", .json_path = ".status.failed"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

const Type& VolcanoGroupSpec::type() {
  using S = VolcanoGroupSpec;
  static const Type t = structure<S>(
      "v1beta1.PodGroupSpec",
      {F(minMember), F(minResources), F(queue), F(priorityClassName), F(networkTopology)});
  return t;
}
const Type& VolcanoGroupCondition::type() {
  using S = VolcanoGroupCondition;
  static const Type t = structure<S>(
      "v1beta1.PodGroupCondition",
      {F(type_), F(status), F(transitionID), F(lastTransitionTime), F(reason), F(message)});
  return t;
}
const Type& VolcanoGroupStatus::type() {
  using S = VolcanoGroupStatus;
  static const Type t = structure<S>(
      "v1beta1.PodGroupStatus", {F(phase), F(conditions), F(running), F(succeeded), F(failed)});
  return t;
}
const Type& VolcanoGroup::type() {
  using S = VolcanoGroup;
  static const Type t = structure<S>("v1beta1.PodGroup", {F(metadata), F(spec), F(status)});
  return t;
}
const KindInfo& VolcanoGroup::info() {
  static const KindInfo kind{
      .group = "scheduling.volcano.sh",
      .version = "v1beta1",
      .kind = "PodGroup",
      .plural = "podgroups",
      .singular = "podgroup",
      .status = true,
      .custom = true,
      .schema = schema_with(VolcanoGroup::type(), volcano_notes),
      .type = &VolcanoGroup::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<VolcanoGroup>(); },
      .columns = {{.name = "STATUS", .type = "string", .json_path = ".status.phase"},
                  {.name = "minMember", .type = "integer", .json_path = ".spec.minMember"},
                  {.name = "RUNNINGS", .type = "integer", .json_path = ".status.running"},
                  {.name = "AGE", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

const Type& VolcanoQueueSpec::type() {
  using S = VolcanoQueueSpec;
  static const Type t =
      structure<S>("v1beta1.QueueSpec", {F(weight), F(capability), F(reclaimable), F(parent)});
  return t;
}
const Type& VolcanoQueueStatus::type() {
  using S = VolcanoQueueStatus;
  static const Type t = structure<S>("v1beta1.QueueStatus", {F(state)});
  return t;
}
const Type& VolcanoQueue::type() {
  using S = VolcanoQueue;
  static const Type t = structure<S>("v1beta1.Queue", {F(metadata), F(spec), F(status)});
  return t;
}
const KindInfo& VolcanoQueue::info() {
  static const KindInfo kind{
      .group = "scheduling.volcano.sh",
      .version = "v1beta1",
      .kind = "Queue",
      .plural = "queues",
      .singular = "queue",
      .namespaced = false,
      .status = true,
      .custom = true,
      .type = &VolcanoQueue::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<VolcanoQueue>(); },
      .columns = {{.name = "PARENT", .type = "string", .json_path = ".spec.parent"}}};
  return kind;
}

}  // namespace ddptwin
