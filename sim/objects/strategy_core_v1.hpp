// The core kinds' own parts of the way into the store, for their rows (core_v1_kinds.cpp).
#pragma once

#include "objects/kinds.hpp"

namespace ddptwin {

Strategy namespace_strategy();
Strategy node_strategy();
Strategy pod_strategy();
Strategy service_strategy();
Strategy endpoints_strategy();
Strategy config_map_strategy();
Strategy secret_strategy();
Strategy event_strategy();

}  // namespace ddptwin
