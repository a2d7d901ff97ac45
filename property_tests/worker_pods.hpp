// Modelled workers as the laws of their network begin them: of any version, under any seed.
#pragma once

#include <string>

#include "runtime/model/test_pods.hpp"

namespace ddptwin::property {

inline constexpr int worker_pods_cost = 1;  // of holds(): what a case with a few pods takes

// Drawn, and named in a counterexample.
const model::TorchProfile* any_torch();
std::uint64_t any_worker_seed();

std::string pod_of(int rank);
// Whether the rank has printed a line with that in it.
bool says(const model::TestPods& pods, int rank, const std::string& what);

}  // namespace ddptwin::property
