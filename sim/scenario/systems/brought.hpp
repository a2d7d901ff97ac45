// Systems that are released with others, each release with a version of its own of them.
#pragma once

#include <span>
#include <string_view>

#include "scenario/systems/system.hpp"

namespace ddptwin {

struct BroughtSystem {
  const System* by;
  const System* system;  // which a cluster has in that version, unless another is asked for
  std::string_view (*version)(std::string_view of_by);
};
std::span<const BroughtSystem> brought_systems();

}  // namespace ddptwin
