// Scenarios written as text with words to be filled in, run in virtual time: for laws that say of a
// run what a user's file would.
#pragma once

#include <string>
#include <string_view>

#include "property.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::property {

inline constexpr int scenario_cost = 5;

// Every such word of it; there is one at least.
std::string filled_in(std::string source, std::string_view word, const std::string& value);

// The case fails where the text is no scenario, an invariant does not hold, or the cause of a
// record about a pod has nothing to do with it.
scenario::RunResult result_of(const std::string& source, const scenario::VirtualOptions& options);

}  // namespace ddptwin::property
