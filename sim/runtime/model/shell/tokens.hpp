// The tokens of a shell's script: words with their pieces, operators and redirections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "runtime/model/shell/words.hpp"

namespace ddptwin::model::shell {

// [N]>FILE, [N]>>FILE, &>FILE, [N]>&N and [N]>&-; <FILE, <<END and bash's <<<TEXT; bash's
// > >(COMMAND) and < <(COMMAND).
struct Redirection {
  enum class Target : std::uint8_t { nothing, output, error, file, text, command };
  bool of_input = false;  // and of neither of the other two
  bool of_output = true, of_error = false;
  Target target = Target::file;
  bool appends = false;
  Word file{};  // text: what is read; command: a piece with its script
};

struct Token {
  enum class Kind : std::uint8_t {
    word,
    redirection,
    arithmetic,  // bash's (( )), whose value is the word
    counted,     // bash's for ((;;)) without its `for`: three words
    line_end,
    semicolon,
    case_end,  // ;;
    and_,
    or_,
    pipe,
    background,  // &
    open,        // ( and )
    close,
    end
  };
  Kind kind = Kind::end;
  Word word{};
  bool keyword = false;  // unquoted letters only, so it may be one
  std::optional<Redirection> redirection{};
  // bash's NAME=(...), and the word is NAME=; the words of `counted`
  std::optional<std::vector<Word>> elements{};
};

// "its script uses WHAT", which is not understood: Reason::invalid.
Error unknown(std::string_view what);

// What a name stands for that is no file of the container's: /dev/null, /dev/stdout, /dev/stderr.
Redirection::Target target_of(std::string_view file);

// The last one is Kind::end. `depth`: of $( ) and ${ } that the script stands in. Reason::invalid:
// as unknown() says it.
Result<std::vector<Token>> tokens_of(std::string_view script, Dialect dialect, int depth = 0);
// Until the ) that nothing in it opened, from which on `text` is left.
Result<std::vector<Token>> tokens_within(std::string_view& text, Dialect dialect, int depth);

}  // namespace ddptwin::model::shell
