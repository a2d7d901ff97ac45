// The words of a shell's script and what becomes of them (POSIX Shell Command Language 2.6):
// variables, ${NAME:-word} and its kin, $((...)), $(...), quotes, splitting at blanks; bash's
// arrays, and what else its ${ } does (bash(1), Parameter Expansion). No file names are made of *
// and ?.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::model::shell {

struct Node;

struct Piece {
  enum class Kind : std::uint8_t { literal, variable, arithmetic, output };
  enum class Elements : std::uint8_t { one, each, joined };  // bash's NAME, NAME[@], NAME[*]
  std::string text{};                                        // literal; the variable's name
  Kind kind = Kind::literal;
  bool quoted = false;  // the values of others are split at blanks
  // variable: what stands behind the name, ":-", "##", ...; "length": ${#NAME}; empty: the value.
  std::string operation{};
  std::vector<Piece> word{};             // behind the operation; arithmetic: the expression
  std::shared_ptr<const Node> script{};  // output: whose, $(...)
  std::vector<Piece> more{};             // behind the second / or : of ${NAME/.../...}
  std::vector<Piece> index{};            // of NAME[index]; empty: there is none
  Elements elements = Elements::one;
  bool indirect = false;  // ${!NAME}: of the variable that NAME's value names
};

struct Word {
  std::vector<Piece> pieces{};
  // The text of a word without expansions; nothing otherwise.
  std::optional<std::string> literal() const;
};

// Nothing of it is split then, and what is many is one.
void join(Word& word);

bool is_digit(char c);
bool is_blank(char c);  // or a line's end
bool is_name(char c);   // it may stand in a variable's name
bool is_variable_name(std::string_view text);

// `sh` is dash, as Debian and Ubuntu have it; ash, which is more like bash here, counts as that.
enum class Dialect : std::uint8_t { dash, bash };

// What ${ } may have behind a name, the longest first; empty: none of them.
std::string_view operation_at(std::string_view text, Dialect dialect);

class Variables {
 public:
  virtual ~Variables() = default;
  // Nothing: it is not set.
  virtual std::optional<std::string> value(std::string_view name) const = 0;
  virtual void set(const std::string& name, std::string value) = 0;
  virtual Status set_element(const std::string& name, std::int64_t index, std::string value) = 0;
  // Of an array; the one value of any other variable. Nothing: it is not set.
  virtual std::optional<std::vector<std::string>> elements(const std::string& name) const = 0;
  virtual const std::vector<std::string>& arguments() const = 0;  // $1, $2, ...
  // What a $(...) printed, without the ends of lines behind it. bash's $? is its status from then
  // on.
  virtual const std::string& output_of(const Piece& piece) = 0;
  virtual bool unset_is_an_error() const = 0;  // set -u
  virtual Dialect dialect() const = 0;
};

// Reason::invalid: what a shell says before it ends ("RANK: parameter not set"); `code` is bash's.
Result<std::vector<std::string>> expand(const std::vector<Word>& words, Variables& variables);
// Of an assignment's value, which is not split.
Result<std::string> expand_value(const Word& word, Variables& variables);
// Of a pattern: what is quoted stands for itself.
Result<std::string> expand_pattern(const Word& word, Variables& variables);
// Of a regular expression, likewise.
Result<std::string> expand_expression(const Word& word, Variables& variables);
// With *, ? and [ ]; what stands behind a backslash is itself.
bool matches(std::string_view pattern, std::string_view text);
// The $(...) of a word that these variables ask for, all of them where there are none, in the order
// in which they stand.
void outputs_in(const std::vector<Piece>& pieces, const Variables* variables,
                std::vector<const Piece*>& all);

}  // namespace ddptwin::model::shell
