// What stands in $(( )) and in bash's (( )), as C has it (POSIX Shell Command Language 2.6.4), but
// for the comma.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "runtime/model/shell/words.hpp"

namespace ddptwin::model::shell {

// Whether the model knows all that is in it. "1" in `expression` stands for any value.
bool is_known_arithmetic(std::string_view expression, Dialect dialect);

// Its assignments are made. Reason::invalid: what a shell says before it ends.
Result<std::int64_t> arithmetic(std::string_view expression, Variables& variables);

}  // namespace ddptwin::model::shell
