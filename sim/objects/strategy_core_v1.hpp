// The core kinds' own parts of the way into the store, for their rows (core_v1_kinds.cpp).
#pragma once

#include "objects/kinds.hpp"

namespace ddptwin {

Strategy namespace_strategy();
Strategy pod_strategy();

}  // namespace ddptwin
