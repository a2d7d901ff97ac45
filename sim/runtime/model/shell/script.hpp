// The part of the shell's language that containers' `sh -c` lines are written in, as a tree:
// sequences, { }, ( ), && and ||, !, if, case, while, until, for, functions, pipes, &, assignments,
// words with quotes and expansions (words.hpp), redirections, here-documents. The rest is refused
// by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "runtime/model/shell/tokens.hpp"

namespace ddptwin::model {
enum class Likeness : std::uint8_t;
}

namespace ddptwin::model::shell {

struct Assignment {
  std::string name;
  Word value{};
  std::optional<std::vector<Word>> elements{};  // bash's NAME=(...)
  std::optional<Word> index{};                  // bash's NAME[index]=
  bool appends = false;                         // bash's NAME+=
};

struct Node {
  enum class Kind : std::uint8_t {
    command,
    list,
    and_,
    or_,
    not_,
    if_,
    case_,
    expression,
    arithmetic,
    until,
    while_,
    for_,
    counted,
    pipe,
    subshell,
    background,
    function
  };
  Kind kind = Kind::command;
  std::vector<Assignment> assignments{};  // command
  // command; for_: what it goes over; case_: what it is asked of; expression, which is bash's
  // [[ TEXT =~ EXPRESSION ]]: these two; arithmetic, which is bash's (( )): its value; counted,
  // which is bash's for ((;;)): its three
  std::vector<Word> words{};
  std::vector<Redirection> redirections{};
  std::string variable{};       // for_; function: its name
  bool over_arguments = false;  // for_ without `in`
  bool never_in_place = false;  // bash does not let its last command take the shell's place: an &
                                // joins it to what stands before it, or, of an && or ||, anything
  std::vector<std::vector<Word>> patterns{};  // case_: of each child
  // list: all; and_, or_: two; not_, subshell, background, function: one; if_: condition, then,
  // perhaps else; case_: what each pattern leads to; until, while_: condition, body; for_, counted:
  // body; pipe: the commands, from the left.
  std::vector<Node> children{};
  // command: what the training of a run of the script looks like in which this one is carried out;
  // found by label_training(). Without: of the script as a whole.
  std::optional<Likeness> training{};
};

// Reason::invalid with what is not understood: "its script uses <(".
Result<Node> parse(std::string_view script, Dialect dialect);
Result<Node> parse(std::vector<Token> tokens, Dialect dialect);

}  // namespace ddptwin::model::shell
