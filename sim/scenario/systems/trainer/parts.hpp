// What Trainer's row is put together from (../trainer.cpp).
#pragma once

#include <span>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario {

extern const WorkloadReader trainjob_reader;
std::span<const InvariantRow> trainjob_invariants();

}  // namespace ddptwin::scenario
