// What manifests say of users and rights and no run heeds: real programs are root in their
// sandboxes, modelled ones are nobody.
#pragma once

#include <string>
#include <vector>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

struct WithoutEffect {
  std::string object{};  // pytorchjob/train
  std::string text{};    // file, line, field, and what has no effect
};
// Of the manifests and those of `apply` steps, in their order; what has an effect in one mode is
// told in the other.
std::vector<WithoutEffect> without_effect(const Scenario& scenario, Mode mode);

}  // namespace ddptwin::scenario
