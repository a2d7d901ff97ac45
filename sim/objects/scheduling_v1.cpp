#include "objects/scheduling_v1.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {
namespace {

void set_defaults(Object& object) {
  auto& policy = static_cast<PriorityClass&>(object).preemptionPolicy;
  if (!policy) policy = "PreemptLowerPriority";
}

}  // namespace

const Type& PriorityClass::type() {
  using S = PriorityClass;
  static const Type t =
      structure<S>("v1.PriorityClass", {F(metadata), F(value, .always = true), F(globalDefault),
                                        F(description), F(preemptionPolicy)});
  return t;
}

const KindInfo& PriorityClass::info() {
  static const KindInfo kind{
      .group = "scheduling.k8s.io",
      .version = "v1",
      .kind = "PriorityClass",
      .plural = "priorityclasses",
      .singular = "priorityclass",
      .short_names = {"pc"},
      .namespaced = false,
      .generation = true,
      .type = &PriorityClass::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<PriorityClass>(); },
      .strategy = {.defaults = set_defaults}};
  return kind;
}

}  // namespace ddptwin
