#include "runtime/model/shell/word_lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/numbers.hpp"
#include "runtime/model/shell/arithmetic.hpp"
#include "runtime/model/shell/script.hpp"

namespace ddptwin::model::shell {
namespace {

constexpr int depth_max = 20;  // of $( ), `...`, ${ }, [ ] and (( )) within each other

// What a backslash in $'...' stands for; `text` is behind it then. Nothing: it is not known.
std::optional<std::string> dollar_escape(std::string_view& text) {
  constexpr std::string_view letters = "abeEfnrtv\\'\"?", codes = "\a\b\x1b\x1b\f\n\r\t\v\\'\"?";
  const char c = text[1];
  text.remove_prefix(2);
  if (const std::size_t at = letters.find(c); at != letters.npos) return std::string(1, codes[at]);
  const bool octal = c >= '0' && c <= '7';
  if (octal || c == 'x') {
    const int base = octal ? 8 : 16;
    std::size_t size = octal ? 1 : 0;
    std::string digits(octal ? 1 : 0, c);
    for (; size < (octal ? 3U : 2U) && !text.empty(); ++size) {
      if (!whole_number_in(base, text.substr(0, 1))) break;
      digits += text.front();
      text.remove_prefix(1);
    }
    if (digits.empty()) return "\\x";
    return std::string(1, static_cast<char>(whole_number_in(base, digits).value_or(0)));
  }
  if (c == 'u' || c == 'U' || c == 'c') return std::nullopt;
  return std::string("\\") + c;
}

}  // namespace

bool WordLexer::ends_word(char c) {
  return std::string_view(" \t\r\n;&|<>()").find(c) != std::string_view::npos;
}

Status WordLexer::pieces(Word& word) {
  while (!text_.empty() && !ends_word(text_.front())) TRY_VOID(piece(word, false));
  return {};
}

Status WordLexer::piece(Word& word, bool quoted) {
  const char c = text_.front();
  if (c == '~' && !quoted && begins_path(word)) return home(word);
  if (c == '`') return backquoted(word, quoted);
  if (c == '$') return expansion(word, quoted);
  if (c == '\'' && !quoted) {
    const std::size_t end = text_.find('\'', 1);
    if (end == text_.npos) return fail(unknown("a quote without its end"));
    word.pieces.push_back(literal_piece(text_.substr(1, end - 1), true));
    text_.remove_prefix(end + 1);
    return {};
  }
  if (c == '"' && !quoted) {
    word.pieces.push_back(literal_piece("", true));
    return double_quoted(word);
  }
  if (text_.starts_with("\\\n")) {
    text_.remove_prefix(2);
    return {};
  }
  const bool escapes =
      !quoted || (text_.size() > 1 && std::string_view("\"\\$`}").find(text_[1]) != text_.npos);
  const bool escaped = c == '\\' && text_.size() > 1 && escapes;
  literal(word, escaped ? text_[1] : c, quoted || escaped);
  text_.remove_prefix(escaped ? 2 : 1);
  return {};
}

// Where ~ is a home (POSIX, 2.6.1): at a word's beginning, and in an assignment behind = and :.
bool WordLexer::begins_path(const Word& word) {
  if (word.pieces.empty()) return true;
  const Piece& first = word.pieces.front();
  const Piece& last = word.pieces.back();
  const std::size_t equals = first.text.find('=');
  const auto written = [](const Piece& piece) {
    return piece.kind == Piece::Kind::literal && !piece.quoted;
  };
  return written(first) && written(last) && equals != first.text.npos &&
         is_variable_name(std::string_view(first.text).substr(0, equals)) &&
         (last.text.ends_with(':') || (&last == &first && last.text.size() == equals + 1));
}

Status WordLexer::home(Word& word) {
  text_.remove_prefix(1);
  if (!text_.empty() && !ends_word(text_.front()) && text_.front() != '/' && text_.front() != ':') {
    const std::size_t size = text_.find_first_of("/ \t\n;&|<>()");
    return fail(unknown(fmt::format("~{}", text_.substr(0, size))));
  }
  Piece made{"HOME", Piece::Kind::variable, true, "-", {}, {}};
  made.word.push_back(literal_piece("/root", true));
  word.pieces.push_back(std::move(made));
  return {};
}

// bash's $'...' (bash(1), QUOTING).
Status WordLexer::escaped_quote(Word& word) {
  text_.remove_prefix(1);
  std::string text;
  while (!text_.empty() && text_.front() != '\'') {
    if (text_.front() != '\\' || text_.size() == 1) {
      text += text_.front();
      text_.remove_prefix(1);
      continue;
    }
    const auto made = dollar_escape(text_);
    if (!made) return fail(unknown("$'\\" + std::string(text_.substr(1, 1)) + "'"));
    text += *made;
  }
  if (text_.empty()) return fail(unknown("a quote without its end"));
  text_.remove_prefix(1);
  word.pieces.push_back(literal_piece(text, true));
  return {};
}

Status WordLexer::double_quoted(Word& word) {
  text_.remove_prefix(1);
  while (!text_.empty()) {
    if (text_.starts_with('"')) {
      text_.remove_prefix(1);
      return {};
    }
    TRY_VOID(piece(word, true));
  }
  return fail(unknown("a quote without its end"));
}

Piece WordLexer::literal_piece(std::string_view text, bool quoted) {
  return {std::string(text), Piece::Kind::literal, quoted, "", {}, {}};
}

void WordLexer::literal(Word& word, char c, bool quoted) {
  if (word.pieces.empty() || word.pieces.back().kind != Piece::Kind::literal ||
      word.pieces.back().quoted != quoted)
    word.pieces.push_back(literal_piece("", quoted));
  word.pieces.back().text += c;
}

Status WordLexer::expansion(Word& word, bool quoted) {
  text_.remove_prefix(1);
  if (text_.starts_with("((")) return arithmetic(word, quoted);
  if (text_.starts_with('(')) return output(word, quoted);
  const bool is_bash = dialect_ == Dialect::bash;
  if (text_.starts_with('\'') && !quoted && is_bash) return escaped_quote(word);
  if (text_.starts_with('"') && !quoted && is_bash) return {};  // of which there is no translation
  if (text_.starts_with('{')) {
    text_.remove_prefix(1);
    return braces(word, quoted);
  }
  const std::size_t size = name_size(false);
  if (size == 0) {
    literal(word, '$', true);
    return {};
  }
  word.pieces.push_back(
      {std::string(text_.substr(0, size)), Piece::Kind::variable, quoted, "", {}, {}});
  text_.remove_prefix(size);
  return {};
}

std::size_t WordLexer::name_size(bool in_braces) const {
  if (text_.empty()) return 0;
  if (std::string_view("?#$!@*").find(text_.front()) != text_.npos) return 1;
  if (is_digit(text_.front()) && !in_braces) return 1;
  std::size_t size = 0;
  while (size < text_.size() && is_name(text_[size])) ++size;
  return size;
}

Status WordLexer::deeper() {
  if (++depth_ > depth_max) return fail(unknown("$ within $ more than 20 times"));
  return {};
}

Status WordLexer::add_output(Word& word, bool quoted, std::vector<Token> tokens) {
  TRY(Node script, parse(std::move(tokens), dialect_));
  word.pieces.push_back(
      {"", Piece::Kind::output, quoted, "", {}, std::make_shared<const Node>(std::move(script))});
  return {};
}

Status WordLexer::output(Word& word, bool quoted) {
  TRY_VOID(deeper());
  text_.remove_prefix(1);
  TRY(std::vector<Token> tokens, tokens_within(text_, dialect_, depth_));
  if (!text_.starts_with(')')) return fail(unknown("$( without its end"));
  text_.remove_prefix(1);
  --depth_;
  return add_output(word, quoted, std::move(tokens));
}

Status WordLexer::backquoted(Word& word, bool quoted) {
  TRY_VOID(deeper());
  std::string script;
  std::size_t at = 1;
  for (; at < text_.size() && text_[at] != '`'; ++at) {
    const bool escapes =
        at + 1 < text_.size() &&
        std::string_view(quoted ? "`\\$\"" : "`\\$").find(text_[at + 1]) != text_.npos;
    if (text_[at] == '\\' && escapes) ++at;
    script += text_[at];
  }
  if (at >= text_.size()) return fail(unknown("` without its end"));
  text_.remove_prefix(at + 1);
  auto tokens = tokens_of(script, dialect_, depth_);
  --depth_;
  const Status added = tokens ? add_output(word, quoted, std::move(*tokens)) : fail(tokens.error());
  // In a document it is mostly prose, of which a shell says that it is no command, and goes on.
  return in_document_ ? Status() : added;
}

Status WordLexer::braces(Word& word, bool quoted) {
  Piece made{"", Piece::Kind::variable, quoted, "", {}, {}};
  const bool is_bash = dialect_ == Dialect::bash;
  if (text_.starts_with('#') && !text_.starts_with("#}")) {
    made.operation = "length";
    text_.remove_prefix(1);
  } else if (is_bash && text_.starts_with('!') && text_.size() > 1 && is_name(text_[1])) {
    made.indirect = true;
    text_.remove_prefix(1);
  }
  const std::size_t size = name_size(true);
  made.text = text_.substr(0, size);
  text_.remove_prefix(size);
  if (is_bash && size > 0 && text_.starts_with('[')) TRY_VOID(subscript(made));
  if (made.operation.empty() && size > 0) {
    made.operation = operation_at(text_, dialect_);
    text_.remove_prefix(made.operation.size());
    TRY_VOID(deeper());
    TRY_VOID(operand(made, made.word));
    const char divides = made.operation.empty() ? '}' : made.operation.front();
    const bool two = made.operation == ":" || divides == '/';
    if (two && text_.starts_with(divides)) {
      text_.remove_prefix(1);
      TRY_VOID(operand(made, made.more));
      if (made.more.empty()) made.more.push_back(literal_piece("", true));
    }
    TRY_VOID(check(made));
    --depth_;
  }
  if (size == 0 || !text_.starts_with('}'))
    return fail(unknown("${ } with more than a name and one operation"));
  text_.remove_prefix(1);
  word.pieces.push_back(std::move(made));
  return {};
}

Status WordLexer::subscript(Piece& made) {
  text_.remove_prefix(1);
  TRY_VOID(deeper());
  if (text_.starts_with("@]") || text_.starts_with("*]")) {
    made.elements = text_.front() == '@' ? Piece::Elements::each : Piece::Elements::joined;
    text_.remove_prefix(1);
  } else {
    Word index;
    while (!text_.empty() && !text_.starts_with(']')) TRY_VOID(piece(index, true));
    if (index.pieces.empty() || !is_known(index))
      return fail(unknown("[ ] with more than a number"));
    made.index = std::move(index.pieces);
  }
  --depth_;
  if (!text_.starts_with(']')) return fail(unknown("[ without its end"));
  text_.remove_prefix(1);
  return {};
}

Status WordLexer::operand(const Piece& made, std::vector<Piece>& into) {
  const std::string_view operation = made.operation;
  const bool numbers = operation == ":";
  // A pattern within quotes is none that is quoted (POSIX, 2.6.2).
  const bool pattern = !operation.empty() &&
                       std::string_view("#%/").find(operation.front()) != std::string_view::npos;
  const char divides = numbers ? ':' : pattern && operation.front() == '/' ? '/' : '}';
  const bool first = &into == &made.word;
  Word behind;
  while (!operation.empty() && !text_.empty() && !text_.starts_with('}') &&
         !(first && text_.starts_with(divides))) {
    if (text_.starts_with('"')) {
      behind.pieces.push_back(literal_piece("", true));
      TRY_VOID(double_quoted(behind));
    } else {
      TRY_VOID(piece(behind, numbers || (made.quoted && !pattern)));
    }
  }
  into = std::move(behind.pieces);
  return {};
}

Status WordLexer::check(const Piece& made) const {
  const std::string_view operation = made.operation;
  const auto has = [](const std::vector<Piece>& in, auto what) {
    return std::any_of(in.begin(), in.end(), what);
  };
  const auto ampersand = [](const Piece& piece) {
    return piece.kind == Piece::Kind::literal && piece.text.find('&') != piece.text.npos;
  };
  if (operation == ":" && (!is_known({made.word}) || !is_known({made.more})))
    return fail(unknown("${NAME:...} with more than numbers"));
  if (operation.starts_with('/') && has(made.more, ampersand))
    return fail(unknown("& in ${NAME/...}"));
  if ((operation.starts_with('^') || operation.starts_with(',')) && !made.word.empty())
    return fail(unknown("a pattern in ${NAME^...}"));
  const bool many = made.elements != Piece::Elements::one;
  if (made.indirect && (many || !made.index.empty() || operation.ends_with('=')))
    return fail(unknown("${!NAME} of an array"));
  if (many && (operation.ends_with('=') || operation.ends_with('?')))
    return fail(unknown("${NAME[@]" + made.operation + "...}"));
  return {};
}

Status WordLexer::arithmetic(Word& word, bool quoted) {
  text_.remove_prefix(2);
  TRY_VOID(number(word, quoted, "))"));
  text_.remove_prefix(2);
  return {};
}

Status WordLexer::number(Word& word, bool quoted, std::string_view end) {
  TRY_VOID(deeper());
  Word expression;
  for (int parentheses = 0; !text_.empty();) {
    if (text_.front() == end.front() && parentheses == 0) break;
    parentheses += text_.front() == '(' ? 1 : text_.front() == ')' ? -1 : 0;
    TRY_VOID(piece(expression, true));
  }
  --depth_;
  if (!text_.starts_with(end) || !is_known(expression))
    return fail(unknown("(( )) with more than numbers, names and the operators of C"));
  word.pieces.push_back(
      {"", Piece::Kind::arithmetic, quoted, "", std::move(expression.pieces), {}});
  return {};
}

Status WordLexer::regular_expression(Word& word) {
  for (int open = 0; !text_.empty();) {
    const char c = text_.front();
    const char next = text_.size() > 1 ? text_[1] : ' ';
    const bool blank = c == ' ' || c == '\t';
    if (c == '\n' || (open == 0 && (blank || c == ')'))) break;
    const bool expands = c == '$' && (is_name(next) || next == '{' || next == '(');
    if (expands || c == '\'' || c == '"' || c == '`') {
      TRY_VOID(piece(word, false));
      continue;
    }
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    const std::size_t size = c == '\\' && text_.size() > 1 ? 2 : 1;
    for (const char each : text_.substr(0, size)) literal(word, each, false);
    text_.remove_prefix(size);
  }
  return word.pieces.empty() ? fail(unknown("=~ without an expression")) : Status();
}

bool WordLexer::is_known(const Word& expression) const {
  std::string text;
  for (const Piece& piece : expression.pieces)
    text += piece.kind == Piece::Kind::literal ? piece.text : "1";
  return is_known_arithmetic(text, dialect_);
}

Result<Word> WordLexer::document() {
  in_document_ = true;
  Word word{{literal_piece("", true)}};
  while (!text_.empty()) {
    const bool itself = text_.starts_with("\\\"") || text_.starts_with("\\}");
    if (!itself) {
      TRY_VOID(piece(word, true));
      continue;
    }
    for (const char c : text_.substr(0, 2)) literal(word, c, true);
    text_.remove_prefix(2);
  }
  return word;
}

}  // namespace ddptwin::model::shell
