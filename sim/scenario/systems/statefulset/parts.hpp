// What apps/v1 StatefulSet brings into Kubernetes' own row (../kubernetes.cpp).
#pragma once

#include <span>

#include "objects/apps_v1.hpp"
#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario {

extern const WorkloadReader statefulset_reader;
std::span<const InvariantRow> statefulset_invariants();

}  // namespace ddptwin::scenario
