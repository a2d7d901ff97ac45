// The rows of spec/pytorchjob.md §9 that speak of one function: tables, not conversations.
#pragma once

#include <string_view>
#include <vector>

#include "conversation.hpp"

namespace ddptwin::conformance {

std::vector<Verdict> pytorchjob_functions();

}  // namespace ddptwin::conformance
