// A shell at work, as a program.
#pragma once

#include <memory>

#include "runtime/model/commands.hpp"
#include "runtime/model/program.hpp"
#include "runtime/model/shell/scope.hpp"

namespace ddptwin::model::shell {

// Runs `node`, which one of the scope's scripts holds. `tested`: somebody asks for its status, so
// that `set -e` within it does not.
std::unique_ptr<Program> make_run(Scope scope, const Node& node, CommandContext context,
                                  bool tested = false);

}  // namespace ddptwin::model::shell
