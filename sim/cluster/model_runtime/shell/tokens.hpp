// The tokens of a shell's script: words with their pieces, operators, and the redirections behind
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/model_runtime/shell/words.hpp"
#include "core/result.hpp"

namespace ddptwin::model::shell {

// [N]>FILE, [N]>>FILE, &>FILE and [N]>&N. Nothing is read from anywhere.
struct Redirection {
  enum class Target : std::uint8_t { nothing, output, error, file };
  bool of_output = true, of_error = false;
  Target target = Target::file;
  bool appends = false;
  Word file{};
};

struct Token {
  enum class Kind : std::uint8_t {
    word,
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
  std::vector<Redirection> redirections{};
};

// "its script uses WHAT", which is not understood: Reason::invalid.
Error unknown(std::string_view what);

// What a name stands for that is no file of the container's: /dev/null, /dev/stdout, /dev/stderr.
Redirection::Target target_of(std::string_view file);

// The last one is Kind::end. Reason::invalid: as unknown() says it.
Result<std::vector<Token>> tokens_of(std::string_view script, Dialect dialect);

}  // namespace ddptwin::model::shell
