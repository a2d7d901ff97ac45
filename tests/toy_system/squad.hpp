// toy.example/v1 Squad: so many pods of one template. It has succeeded when all of them have.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin::toy {

struct SquadSpec {
  std::optional<std::int32_t> replicas{};
  PodTemplateSpec template_{};
  static const Type& type();
};

struct SquadStatus {
  std::string phase{};  // Running, Succeeded, Failed
  static const Type& type();
};

struct Squad final : ObjectOf<Squad> {
  Verbatim<SquadSpec> spec{};
  std::optional<SquadStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin::toy
