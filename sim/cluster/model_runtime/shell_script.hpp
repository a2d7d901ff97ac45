// The part of the shell's language that containers' `sh -c` lines are written in, as a tree:
// sequences, { }, && and ||, !, if, while, until, for over words or $(seq N), assignments, words
// with quotes and expansions (shell_words.hpp), output into nothing or tee. The rest is refused by
// name.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/model_runtime/shell_words.hpp"
#include "core/result.hpp"

namespace ddptwin::model::shell {

struct Node {
  enum class Kind : std::uint8_t { command, list, and_, or_, not_, if_, until, while_, for_, tee };
  Kind kind = Kind::command;
  std::vector<std::pair<std::string, Word>> assignments{};  // command
  std::vector<Word> words{};                                // command; for_: what it goes over
  bool quiet = false, error_quiet = false;  // command: stdout, stderr goes to /dev/null
  std::string variable{};                   // for_
  // list: all; and_, or_: two; not_: one; if_: condition, then, perhaps else; until, while_:
  // condition, body; for_: body; tee: the command whose output it copies.
  std::vector<Node> children{};
};

// Reason::invalid with what is not understood: "its script uses |".
Result<Node> parse(std::string_view script);

}  // namespace ddptwin::model::shell
