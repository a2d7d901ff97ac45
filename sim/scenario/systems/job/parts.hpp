// What batch/v1 Job brings into Kubernetes' own row (../kubernetes.cpp).
#pragma once

#include <span>
#include <vector>

#include "objects/batch_v1.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {

std::vector<ToldCondition> conditions_of_job(const Object& object);
extern const WorkloadReader job_reader;
std::span<const InvariantRow> job_invariants();

}  // namespace ddptwin::scenario
