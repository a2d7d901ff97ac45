// What a Node says of itself.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

// Its condition Ready is True.
bool is_ready(const Node& node);

}  // namespace ddptwin
