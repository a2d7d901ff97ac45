// A shell at work, as a program.
#pragma once

#include <memory>

#include "cluster/model_runtime/commands.hpp"
#include "cluster/model_runtime/program.hpp"
#include "cluster/model_runtime/shell/scope.hpp"

namespace ddptwin::model::shell {

// Runs `node`, which one of the scope's scripts holds. `tested`: somebody asks for its status, so
// that `set -e` within it does not.
std::unique_ptr<Program> make_run(Scope scope, const Node& node, CommandContext context,
                                  bool tested = false);

}  // namespace ddptwin::model::shell
