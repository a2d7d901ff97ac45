#include "objects/pod_groups.hpp"

#include <array>
#include <boost/json.hpp>

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/schema_of_type.hpp"

namespace ddptwin {
namespace {

RawJson volcano_group_schema() {
  constexpr std::array notes{
      SchemaNote{"v1beta1.PodGroupSpec", "queue", SchemaNote::What::fallback, "\"default\""}};
  Json out = schema_of(VolcanoGroup::type(), notes);
  out.get_object()["properties"].get_object().erase("metadata");
  return RawJson(std::move(out));
}

}  // namespace

const Type& CoschedulingGroupSpec::type() {
  using S = CoschedulingGroupSpec;
  static const Type t = structure<S>("v1alpha1.PodGroupSpec",
                                     {F(minMember), F(minResources), F(scheduleTimeoutSeconds)});
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
      .type = &CoschedulingGroup::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<CoschedulingGroup>(); }};
  return kind;
}

const Type& VolcanoGroupSpec::type() {
  using S = VolcanoGroupSpec;
  static const Type t = structure<S>(
      "v1beta1.PodGroupSpec",
      {F(minMember), F(minResources), F(queue), F(priorityClassName), F(networkTopology)});
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
      .schema = volcano_group_schema(),
      .type = &VolcanoGroup::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<VolcanoGroup>(); }};
  return kind;
}

}  // namespace ddptwin
