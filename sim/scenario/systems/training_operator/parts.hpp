// What the training operator's row is put together from (../training_operator.cpp).
#pragma once

#include <span>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario {

extern const WorkloadReader pytorchjob_reader;
std::span<const InvariantRow> training_operator_invariants();

}  // namespace ddptwin::scenario
