// The words of a shell's script and what becomes of them (POSIX Shell Command Language 2.6):
// variables, ${NAME:-word} and its kin, $((...)), $(seq N), $(hostname), quotes, splitting at
// blanks. No file names are made of * and ?.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::model::shell {

struct Piece {
  enum class Kind : std::uint8_t { literal, variable, arithmetic };
  std::string text{};  // literal; the variable's name, "hostname()" for $(hostname); the expression
  Kind kind = Kind::literal;
  bool quoted = false;  // the values of others are split at blanks
  // variable: what stands behind the name, ":-", "##", ...; "length": ${#NAME}; empty: the value.
  std::string operation{};
  std::vector<Piece> word{};  // behind the operation
};

struct Word {
  std::vector<Piece> pieces{};
  int sequence = 0;  // not 0: $(seq N), as so many words
  // The text of a word without expansions; nothing otherwise.
  std::optional<std::string> literal() const;
};

bool is_name(char c);  // it may stand in a variable's name

// What ${ } may have behind a name, the longest first; empty: none of them.
std::string_view operation_at(std::string_view text);

class Variables {
 public:
  virtual ~Variables() = default;
  // Nothing: it is not set.
  virtual std::optional<std::string> value(std::string_view name) const = 0;
  virtual void set(const std::string& name, std::string value) = 0;
  virtual const std::vector<std::string>& arguments() const = 0;  // $1, $2, ...
  virtual bool unset_is_an_error() const = 0;                     // set -u
};

// Reason::invalid: what a shell says before it ends with 2 ("RANK: parameter not set").
Result<std::vector<std::string>> expand(const std::vector<Word>& words, Variables& variables);
// Of an assignment's value, which is not split.
Result<std::string> expand_value(const Word& word, Variables& variables);

}  // namespace ddptwin::model::shell
