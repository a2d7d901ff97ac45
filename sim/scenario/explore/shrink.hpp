// The smallest plan that still fails: fewer faults, then earlier and simpler ones.
#pragma once

#include <functional>

#include "scenario/language/fault.hpp"

namespace ddptwin::scenario {

// Whether a run with this plan fails in the way that is looked for. Repeatable.
using Fails = std::function<bool(const FaultPlan&)>;

struct Shrunk {
  FaultPlan plan{};
  std::size_t runs = 0;  // how many plans were tried
  bool minimal = false;  // nothing simpler fails; false where the tries ran out
};

// Greedy and repeatable. Precondition: fails(plan). The result fails too, and where it is minimal
// neither does it without one of its faults, nor with one of them a step earlier or simpler.
Shrunk shrink(FaultPlan plan, const Fails& fails, std::size_t tries_max = 2000);

// What is one step simpler than a fault, the boldest first. Every chain of them ends.
std::vector<Fault> simpler(const Fault& fault);

}  // namespace ddptwin::scenario
