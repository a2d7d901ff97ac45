// The part of the shell's language that containers' `sh -c` lines are written in, as a tree:
// sequences, && and ||, !, if, while, until, for over words or $(seq N), assignments, variables,
// quotes. The rest is refused by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::model::shell {

// A piece of a word: literal text, or the value of a variable. Unquoted values are split at blanks.
struct Piece {
  std::string text{};  // or the variable's name
  bool variable = false;
  bool quoted = false;
};
struct Word {
  std::vector<Piece> pieces{};
  int sequence = 0;  // not 0: $(seq N), as so many words
  // The text of a word without variables; nothing otherwise.
  std::optional<std::string> literal() const;
};

struct Node {
  enum class Kind : std::uint8_t { command, list, and_, or_, not_, if_, until, while_, for_ };
  Kind kind = Kind::command;
  std::vector<std::pair<std::string, Word>> assignments{};  // command
  std::vector<Word> words{};                                // command; for_: what it goes over
  bool quiet = false, error_quiet = false;  // command: stdout, stderr goes to /dev/null
  std::string variable{};                   // for_
  // list: all; and_, or_: two; not_: one; if_: condition, then, perhaps else; until, while_:
  // condition, body; for_: body.
  std::vector<Node> children{};
};

// Reason::invalid with what is not understood: "its script uses |".
Result<Node> parse(std::string_view script);

}  // namespace ddptwin::model::shell
