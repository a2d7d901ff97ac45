// What AIStudio's row is put together from (../aistudio.cpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "objects/ddptask.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {

inline constexpr const char* aistudio_actor = "aistudio";

extern const WorkloadReader ddptask_reader;
std::vector<ToldCondition> conditions_of_ddptask(const Object& object);
std::span<const InvariantRow> aistudio_invariants();
// The page's start script ends with `exit $?` behind the `if` that keeps the site of a failed
// training, and that is the code of the `if`: the failure is reported as a success
// (spec/aistudio.md §7.1 2). Says so of a task whose entry command is written like that, where a
// log has what only that branch prints; else empty.
std::string hidden_failure(const Object& task,
                           std::span<const std::vector<std::string>* const> logs);

}  // namespace ddptwin::scenario
