// What a shell does itself that needs nothing of its state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::model::shell {

// A command that the shell itself does, and the model with it.
bool is_built_in(std::string_view name);

// What the model does not know of a command that a shell does itself, "read", "test with -d";
// empty: nothing. "$" in `argv` stands for any text.
std::string unknown_of(const std::vector<std::string>& argv);

// What `env NAME=value... COMMAND` and `nohup COMMAND` change for their command, which is left in
// `argv`: its variables.
std::vector<std::pair<std::string, std::string>> unwrap(std::vector<std::string>& argv);

// What `echo ARGUMENTS` prints. dash reads escapes, bash does after -e; \c ends it.
std::string echo_text(const std::vector<std::string>& arguments, bool is_bash);
// What `printf FORMAT [ARGUMENT...]` prints. Reason::invalid: what the model does not know of it.
Result<std::string> printf_text(const std::vector<std::string>& arguments);

// 15 of "TERM" and "15", 0 of "EXIT"; nothing: there is no such signal. Only bash knows "SIGTERM".
std::optional<int> signal_of(std::string_view name, bool is_bash);

}  // namespace ddptwin::model::shell
