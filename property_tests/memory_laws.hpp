// What holds of the memories of a world's processes.
#pragma once

#include "scenario/world/world.hpp"

namespace ddptwin::property {

// At rest nobody remembers what is gone.
void require_no_memory_of_what_is_gone(const World& world);
// Each process ends by itself, at one moment: it forgets everything, and nobody else anything.
void require_crashes_to_forget(World& world);

}  // namespace ddptwin::property
