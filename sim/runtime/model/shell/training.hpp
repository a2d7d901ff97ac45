// Which commands of a described image's start script are the training, and which prepare it.
#pragma once

#include <string>
#include <vector>

#include "runtime/model/commands.hpp"
#include "runtime/model/shell/script.hpp"

namespace ddptwin::model::shell {

// A simple command's words without what only hands on to it; torchrun::unknown_text stands for what
// a run will tell. Empty: it has none.
std::vector<std::string> command_of(const Node& node);

// Sets Node::training of each command, and says what that of the whole script is. Of two branches
// of `if`, `case` or `[ ] && ... || ...` one run takes one, so what is in the other says nothing of
// it: both may train. `beside`: what stands beside the script.
Likeness label_training(Node& script, Likeness beside);

}  // namespace ddptwin::model::shell
