// What `echo` and `printf` print.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "runtime/model/shell/tokens.hpp"

namespace ddptwin::model::shell {

// Of `echo ARGUMENTS`. dash reads escapes, bash does after -e; \c ends it.
std::string echo_text(const std::vector<std::string>& arguments, Dialect dialect);
// Of `printf [--] FORMAT [ARGUMENT...]`. Reason::invalid: what the model does not know of it.
Result<std::string> printf_text(const std::vector<std::string>& arguments, Dialect dialect);

}  // namespace ddptwin::model::shell
