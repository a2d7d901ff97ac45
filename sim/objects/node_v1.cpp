#include "objects/node_v1.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {

const Type& RuntimeOverhead::type() {
  using S = RuntimeOverhead;
  static const Type t = structure<S>("v1.Overhead", {F(podFixed)});
  return t;
}

const Type& RuntimeScheduling::type() {
  using S = RuntimeScheduling;
  static const Type t = structure<S>("v1.Scheduling", {F(nodeSelector), F(tolerations)});
  return t;
}

const Type& RuntimeClass::type() {
  using S = RuntimeClass;
  static const Type t = structure<S>(
      "v1.RuntimeClass", {F(metadata), F(handler, .always = true), F(overhead), F(scheduling)});
  return t;
}

const KindInfo& RuntimeClass::info() {
  static const KindInfo kind{
      .group = "node.k8s.io",
      .version = "v1",
      .kind = "RuntimeClass",
      .plural = "runtimeclasses",
      .singular = "runtimeclass",
      .namespaced = false,
      .type = &RuntimeClass::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<RuntimeClass>(); }};
  return kind;
}

}  // namespace ddptwin
