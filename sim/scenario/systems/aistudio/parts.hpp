// What AIStudio's row is put together from (../aistudio.cpp).
#pragma once

#include <span>

#include "objects/ddptask.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {

inline constexpr const char* aistudio_actor = "aistudio";

extern const WorkloadReader ddptask_reader;
std::vector<ToldCondition> conditions_of_ddptask(const Object& object);
std::span<const InvariantRow> aistudio_invariants();

}  // namespace ddptwin::scenario
