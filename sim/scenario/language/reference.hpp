// docs/reference/scenario.md, made from the parser's tables, the invariants and the versions.
#pragma once

#include <string>

namespace ddptwin::scenario {

std::string reference_page();

}  // namespace ddptwin::scenario
