// What a shell does itself, and what of it is not modelled.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/model/shell/tokens.hpp"

namespace ddptwin::model::shell {

class Interpreter;

// One table, by name.
struct BuiltIns {
  struct Row;
  using Run = void (Interpreter::*)(const std::vector<std::string>& words,
                                    const std::function<void(int)>& done);
  static const Row* row(std::string_view name, Dialect dialect);
  // Null: the shell does not do it itself.
  static Run find(std::string_view name, Dialect dialect);
};

// One whose errors end the shell, and before which assignments last (POSIX, "Special Built-In
// Utilities").
bool is_special(std::string_view name);

// What the model does not know of a command that a shell does itself, "read", "test with -L";
// empty: nothing. "$" in `argv` stands for any text.
std::string unknown_of(const std::vector<std::string>& argv, Dialect dialect);

// What `env NAME=value... COMMAND` and `nohup COMMAND` change for their command, which is left in
// `argv`: its variables.
std::vector<std::pair<std::string, std::string>> unwrap(std::vector<std::string>& argv);

}  // namespace ddptwin::model::shell
