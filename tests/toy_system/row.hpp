#pragma once

#include "scenario/systems/system.hpp"

namespace ddptwin::toy {

extern const System squad_system;

}  // namespace ddptwin::toy
