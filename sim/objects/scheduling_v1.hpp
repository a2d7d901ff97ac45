// scheduling.k8s.io/v1: PriorityClass.
#pragma once

#include "objects/object.hpp"

namespace ddptwin {

struct PriorityClass final : ObjectOf<PriorityClass> {
  std::int32_t value = 0;
  bool globalDefault = false;
  std::string description{};
  std::optional<std::string> preemptionPolicy{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
