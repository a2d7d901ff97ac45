// Scripts of `sh -c` and `bash -c` from the grammar that is modelled, for laws that hold the model
// against real shells.
#pragma once

#include <string>

namespace ddptwin::property {

// Prints whether it has taken the place of the shell that runs it.
inline constexpr const char* tells_its_place =
    "sh -c \"[ \\$\\$ = $$ ] && echo in place || echo beside\"";

// Drawn. Its loops end.
std::string any_shell_script(bool for_bash);
// "${a[@]}", "${x//a/Q}", ...: of the array a and the variables x, y, i, p, v. What is counted or
// set by it stays so.
std::string any_word_of_bash();
// A command with [[ TEXT =~ EXPRESSION ]] that says what came of it.
std::string any_match_of_bash();

}  // namespace ddptwin::property
