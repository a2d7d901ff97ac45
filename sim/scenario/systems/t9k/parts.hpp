// What T9k's row is put together from (../t9k.cpp).
#pragma once

#include <span>

#include "objects/pytorchtrainingjob.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {

inline constexpr const char* t9k_actor = "t9k";
inline constexpr const char* t9k_scheduler_actor = "t9k-scheduler";

extern const WorkloadReader training_job_reader;
std::vector<ToldCondition> conditions_of_training_job(const Object& object);
std::span<const InvariantRow> t9k_invariants();

// Exit codes that are worth another try under ExitCode (spec/t9k.md §7).
bool is_t9k_retryable(int exit_code);

}  // namespace ddptwin::scenario
