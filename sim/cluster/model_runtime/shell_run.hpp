// A shell at work: the program that walks a script's tree.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/model_runtime/commands.hpp"
#include "cluster/model_runtime/program.hpp"
#include "cluster/model_runtime/shell_script.hpp"

namespace ddptwin::model::shell {

// What a shell has besides its process, and what one that it forks begins with.
struct Scope {
  std::vector<std::shared_ptr<const Node>> scripts{};  // all whose nodes may still be run
  std::map<std::string, const Node*> functions{};      // their bodies
  std::string name = "sh";                             // $0
  std::vector<std::string> arguments{};                // $1, $2, ...
  Environment own{};                                   // variables that are not exported
  bool is_bash = false;
  bool exits_on_error = false, unset_is_an_error = false, pipe_fails = false;  // -e, -u, pipefail
  int status = 0;                                                              // $?
  int pid = 0;                                                                 // $$; 0: its own
  int last_job = 0;                                                            // $!; 0: none
  int loops = 0;  // one within the other; in ( ) too, which `break` then ends, as in dash
};

// As `set` and a shell's own command line take them: -e and -u alone and together with others, -o
// NAME; what else there is changes no status. With `arguments`, what stands behind them is $1, $2.
void set_options(Scope& scope, const std::vector<std::string>& words, bool arguments);

// Runs `node`, which one of the scope's scripts holds.
std::unique_ptr<Program> make_run(Scope scope, const Node& node, CommandContext context);

}  // namespace ddptwin::model::shell
