// What JobSet's row is put together from (../jobset.cpp).
#pragma once

#include <span>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario {

extern const WorkloadReader jobset_reader;
std::span<const InvariantRow> jobset_invariants();

}  // namespace ddptwin::scenario
