#pragma once

#include <regex>
#include <string>

#include "core/result.hpp"

namespace ddptwin {

// An ECMAScript regular expression out of text that somebody wrote. Errors: bad_input, why it is
// none. std::regex reads `{n}` and `\n` without looking whether a number holds them: one of more
// than nine digits there is refused before.
Result<std::regex> regular_expression(const std::string& pattern);

}  // namespace ddptwin
