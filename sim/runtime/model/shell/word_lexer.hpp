// The words of a shell's script as they are written: quotes, $NAME, ${ }, $( ), `...`, $(( )).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "runtime/model/shell/tokens.hpp"
#include "runtime/model/shell/words.hpp"

namespace ddptwin::model::shell {

// Takes words from the beginning of a text. What it does not understand is an Error as unknown()
// has it.
class WordLexer {
 public:
  // `depth`: of $( ) and ${ } that the text stands in.
  WordLexer(std::string_view text, Dialect dialect, int depth)
      : text_(text), dialect_(dialect), depth_(depth) {}

  // All of it as the text of a here-document: quotes are themselves.
  Result<Word> document();

 protected:
  static bool ends_word(char c);
  // Until the word's end.
  Status pieces(Word& word);
  static Piece literal_piece(std::string_view text, bool quoted);
  static void literal(Word& word, char c, bool quoted);
  // $(( ... )) or bash's (( ... )), at its (.
  Status arithmetic(Word& word, bool quoted);
  // A number up to `end`, which stays. What it says is expanded as within quotes, then worked out.
  Status number(Word& word, bool quoted, std::string_view end);
  // What stands behind bash's =~: it ends at a blank outside of its ( ).
  Status regular_expression(Word& word);
  // What stands in ( ), at its (: the script of a piece.
  Status output(Word& word, bool quoted);

  std::string_view text_;
  Dialect dialect_;
  int depth_;

 private:
  bool in_document_ = false;
  // A quoted part, an expansion, or a character.
  Status piece(Word& word, bool quoted);
  Status double_quoted(Word& word);
  Status expansion(Word& word, bool quoted);
  // Of the parameter's name that the text begins with.
  std::size_t name_size(bool in_braces) const;
  Status deeper();
  Status add_output(Word& word, bool quoted, std::vector<Token> tokens);
  static bool begins_path(const Word& word);
  Status home(Word& word);
  Status escaped_quote(Word& word);
  Status backquoted(Word& word, bool quoted);
  Status braces(Word& word, bool quoted);
  // [@], [*] or [N] behind an array's name.
  Status subscript(Piece& made);
  // What stands behind the operation of a ${ }, or behind what divides that.
  Status operand(const Piece& made, std::vector<Piece>& into);
  // Of bash's operations what is not modelled.
  Status check(const Piece& made) const;
  bool is_known(const Word& expression) const;
};

}  // namespace ddptwin::model::shell
