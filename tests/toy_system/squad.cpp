#include "toy_system/squad.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::toy {

const Type& SquadSpec::type() {
  using S = SquadSpec;
  static const Type t = structure<S>("v1.SquadSpec", {F(replicas), F(template_)});
  return t;
}
const Type& SquadStatus::type() {
  using S = SquadStatus;
  static const Type t = structure<S>("v1.SquadStatus", {F(phase)});
  return t;
}
const Type& Squad::type() {
  using S = Squad;
  static const Type t = structure<S>("v1.Squad", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& Squad::info() {
  static const KindInfo kind{
      .group = "toy.example",
      .version = "v1",
      .kind = "Squad",
      .plural = "squads",
      .singular = "squad",
      .status = true,
      .custom = true,
      .type = &Squad::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<Squad>(); }};
  return kind;
}

}  // namespace ddptwin::toy
