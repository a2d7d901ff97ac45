// bash's {a,b} and {1..3} (bash(1), Brace Expansion), which makes several words of one before
// anything else is expanded.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "runtime/model/shell/words.hpp"

namespace ddptwin::model::shell {

// The word itself where it has none. Reason::invalid: more than the model makes of one.
Result<std::vector<Word>> with_braces(const Word& word);

}  // namespace ddptwin::model::shell
