// `sh -c SCRIPT` as a program (script.hpp says which scripts). What is not built in runs as a
// child, or, as the script's last command, in the shell's place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/model/commands.hpp"
#include "runtime/model/program.hpp"

namespace ddptwin::model {

// "sh", "bash", ... with -c; nothing is said of scripts in files, which only a process can read.
bool is_shell(const std::string& name);
// Reason::invalid: the script itself is not understood; Reason::bad_input: only a process can run a
// command in it.
Result<std::unique_ptr<Program>> make_shell(const std::vector<std::string>& argv,
                                            const CommandContext& context);

namespace shell {
struct Node;
enum class Dialect : std::uint8_t;
// Whether what a script reads while it runs can be modelled.
Status check_script(const Node& script, const CommandContext& context, Dialect dialect);
}  // namespace shell

}  // namespace ddptwin::model
