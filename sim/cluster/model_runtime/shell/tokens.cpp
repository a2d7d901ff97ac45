#include "cluster/model_runtime/shell/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster/model_runtime/shell/script.hpp"

namespace ddptwin::model::shell {
namespace {

using Kind = Token::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr int depth_max = 20;  // of $( ) and ${ } within each other

struct Mark {
  std::string_view text;
  Kind kind;  // end: not understood
};
constexpr std::array marks{Mark{"&&", Kind::and_},     Mark{"||", Kind::or_},
                           Mark{"|&", Kind::end},      Mark{"|", Kind::pipe},
                           Mark{";;", Kind::case_end}, Mark{";", Kind::semicolon},
                           Mark{"((", Kind::end},      Mark{"(", Kind::open},
                           Mark{")", Kind::close},     Mark{"&", Kind::background}};

class Lexer {
 public:
  Lexer(std::string_view text, Dialect dialect, int depth)
      : text_(text), dialect_(dialect), depth_(depth) {}

  // Until the text's end; of a $( ) until its ).
  Result<std::vector<Token>> run(bool within) {
    for (int parentheses = 0;;) {
      skip_blanks();
      if (text_.empty()) break;
      if (within && text_.front() == ')' && parentheses == 0) break;
      TRY_VOID(next());
      parentheses += tokens_.back().kind == Kind::open    ? 1
                     : tokens_.back().kind == Kind::close ? -1
                                                          : 0;
    }
    tokens_.push_back({});
    return std::move(tokens_);
  }

  std::string_view rest() const { return text_; }

 private:
  void skip_blanks() {
    for (;;) {
      const std::size_t blanks = text_.find_first_not_of(" \t\r");
      text_.remove_prefix(std::min(blanks, text_.size()));
      if (text_.starts_with("\\\n")) {
        text_.remove_prefix(2);
      } else if (text_.starts_with('#')) {
        text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      } else {
        return;
      }
    }
  }

  Status next() {
    if (text_.front() == '\n') {
      text_.remove_prefix(1);
      tokens_.push_back({Kind::line_end});
      return {};
    }
    TRY(const bool redirects, redirection());
    if (redirects) return {};
    for (const Mark& one : marks) {
      if (!text_.starts_with(one.text)) continue;
      if (one.kind == Kind::end) return fail(unknown(one.text));
      text_.remove_prefix(one.text.size());
      tokens_.push_back({one.kind});
      return {};
    }
    return word();
  }

  Result<bool> redirection() {
    std::string_view rest = text_;
    const char stream = rest.front();
    if (is_digit(stream) && stream > '2' && rest.size() > 1 && (rest[1] == '>' || rest[1] == '<'))
      return fail(unknown(rest.substr(0, 2)));
    const bool numbered =
        rest.size() > 1 && (stream == '1' || stream == '2' || stream == '&') && rest[1] == '>';
    if (numbered && stream == '&' && dialect_ == Dialect::dash)
      return fail(unknown("&>, which `sh` takes for & and a >"));
    if (numbered) rest.remove_prefix(1);
    if (!rest.starts_with('>') && !rest.starts_with('<')) return false;
    const bool input = rest.front() == '<';
    Redirection made;
    made.appends = rest.starts_with(">>");
    rest.remove_prefix(made.appends || rest.starts_with(">|") ? 2 : 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    made.of_error = numbered && stream != '1';
    made.of_output = !numbered || stream != '2';
    if (tokens_.empty() ||
        (tokens_.back().kind != Kind::word && tokens_.back().kind != Kind::close))
      return fail(unknown("a redirection before its command"));
    if (input) {
      constexpr std::string_view null = "/dev/null";
      if (!rest.starts_with(null)) return fail(unknown("<"));
      text_ = rest.substr(null.size());
      return true;
    }
    using Target = Redirection::Target;
    if (rest.starts_with("&1") || rest.starts_with("&2")) {
      made.target = rest[1] == '1' ? Target::output : Target::error;
      text_ = rest.substr(2);
    } else {
      text_ = rest;
      if (text_.empty() || ends_word(text_.front())) return fail(unknown(">"));
      TRY_VOID(pieces(made.file));
    }
    tokens_.back().redirections.push_back(std::move(made));
    return true;
  }

  static bool ends_word(char c) {
    return std::string_view(" \t\r\n;&|<>()").find(c) != std::string_view::npos;
  }

  Status pieces(Word& word) {
    while (!text_.empty() && !ends_word(text_.front())) TRY_VOID(piece(word, false));
    return {};
  }

  Status word() {
    Token token{Kind::word};
    const std::string_view begin = text_;
    TRY_VOID(pieces(token.word));
    const std::string_view whole = begin.substr(0, begin.size() - text_.size());
    if (whole.starts_with('~')) return fail(unknown("~"));
    token.keyword = whole.find_first_of("'\"\\$`") == whole.npos;
    tokens_.push_back(std::move(token));
    return {};
  }

  // A quoted part, an expansion, or a character.
  Status piece(Word& word, bool quoted) {
    const char c = text_.front();
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

  Status double_quoted(Word& word) {
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

  static Piece literal_piece(std::string_view text, bool quoted) {
    return {std::string(text), Piece::Kind::literal, quoted, "", {}, {}};
  }

  static void literal(Word& word, char c, bool quoted) {
    if (word.pieces.empty() || word.pieces.back().kind != Piece::Kind::literal ||
        word.pieces.back().quoted != quoted)
      word.pieces.push_back(literal_piece("", quoted));
    word.pieces.back().text += c;
  }

  Status expansion(Word& word, bool quoted) {
    text_.remove_prefix(1);
    if (text_.starts_with("((")) return arithmetic(word, quoted);
    if (text_.starts_with('(')) return output(word, quoted);
    if (text_.starts_with('\'') && !quoted) return fail(unknown("$'"));
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

  // Of the parameter's name that the text begins with.
  std::size_t name_size(bool in_braces) const {
    if (text_.empty()) return 0;
    if (std::string_view("?#$!@*").find(text_.front()) != text_.npos) return 1;
    if (is_digit(text_.front()) && !in_braces) return 1;
    std::size_t size = 0;
    while (size < text_.size() && is_name(text_[size])) ++size;
    return size;
  }

  Status deeper() {
    if (++depth_ > depth_max) return fail(unknown("$ within $ more than 20 times"));
    return {};
  }

  Status add_output(Word& word, bool quoted, std::vector<Token> tokens) {
    TRY(Node script, parse(std::move(tokens), dialect_));
    word.pieces.push_back(
        {"", Piece::Kind::output, quoted, "", {}, std::make_shared<const Node>(std::move(script))});
    return {};
  }

  Status output(Word& word, bool quoted) {
    TRY_VOID(deeper());
    Lexer inner(text_.substr(1), dialect_, depth_);
    TRY(std::vector<Token> tokens, inner.run(true));
    text_ = inner.rest();
    if (!text_.starts_with(')')) return fail(unknown("$( without its end"));
    text_.remove_prefix(1);
    --depth_;
    return add_output(word, quoted, std::move(tokens));
  }

  Status backquoted(Word& word, bool quoted) {
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
    TRY(std::vector<Token> tokens, Lexer(script, dialect_, depth_).run(false));
    --depth_;
    return add_output(word, quoted, std::move(tokens));
  }

  Status braces(Word& word, bool quoted) {
    Piece made{"", Piece::Kind::variable, quoted, "", {}, {}};
    if (text_.starts_with('#') && !text_.starts_with("#}")) {
      made.operation = "length";
      text_.remove_prefix(1);
    }
    const std::size_t size = name_size(true);
    made.text = text_.substr(0, size);
    text_.remove_prefix(size);
    if (made.operation.empty() && size > 0) {
      made.operation = operation_at(text_);
      text_.remove_prefix(made.operation.size());
      // A pattern within quotes is none that is quoted (POSIX, 2.6.2).
      const bool pattern = made.operation.starts_with('#') || made.operation.starts_with('%');
      TRY_VOID(deeper());
      Word behind;
      while (!made.operation.empty() && !text_.empty() && !text_.starts_with('}')) {
        if (text_.starts_with('"')) {
          behind.pieces.push_back(literal_piece("", true));
          TRY_VOID(double_quoted(behind));
        } else {
          TRY_VOID(piece(behind, quoted && !pattern));
        }
      }
      made.word = std::move(behind.pieces);
      --depth_;
    }
    if (size == 0 || !text_.starts_with('}'))
      return fail(unknown("${ } with more than a name and one operation"));
    text_.remove_prefix(1);
    word.pieces.push_back(std::move(made));
    return {};
  }

  // What it says is expanded as within quotes, then worked out.
  Status arithmetic(Word& word, bool quoted) {
    text_.remove_prefix(2);
    TRY_VOID(deeper());
    Word expression;
    for (int parentheses = 0; !text_.empty();) {
      if (text_.front() == ')' && parentheses == 0) break;
      parentheses += text_.front() == '(' ? 1 : text_.front() == ')' ? -1 : 0;
      TRY_VOID(piece(expression, true));
    }
    --depth_;
    if (!text_.starts_with("))") || !is_known(expression))
      return fail(unknown("$(( )) with more than numbers, names and + - * / % < > = ! && ||"));
    text_.remove_prefix(2);
    word.pieces.push_back(
        {"", Piece::Kind::arithmetic, quoted, "", std::move(expression.pieces), {}});
    return {};
  }

  static bool is_known(const Word& expression) {
    constexpr std::size_t size_max = 200;
    std::string text;
    for (const Piece& piece : expression.pieces)
      text += piece.kind == Piece::Kind::literal ? piece.text : "1";
    bool known = text.size() <= size_max && std::all_of(text.begin(), text.end(), [](char c) {
                   return is_name(c) ||
                          std::string_view(" \t\n()+-*/%<>=!&|").find(c) != std::string_view::npos;
                 });
    for (const std::string_view other : {"<<", ">>", "++", "--"})
      known = known && text.find(other) == text.npos;
    for (const char c : {'=', '&', '|'}) known = known && is_comparing(text, c);
    return known;
  }

  // Each = of the expression is one of ==, !=, <= and >=, each & and | one of two.
  static bool is_comparing(std::string_view expression, char c) {
    for (std::size_t at = 0; at < expression.size(); ++at) {
      if (expression[at] != c) continue;
      const bool twice = at + 1 < expression.size() && expression[at + 1] == c;
      const bool behind =
          c == '=' && at > 0 &&
          std::string_view("!<>").find(expression[at - 1]) != std::string_view::npos;
      if (!twice && !behind) return false;
      if (twice) ++at;
    }
    return true;
  }

  std::string_view text_;
  Dialect dialect_;
  std::vector<Token> tokens_{};
  int depth_;
};

}  // namespace

Error unknown(std::string_view what) {
  return Error{Reason::invalid, "", fmt::format("its script uses {}", what), nullptr, 0, {}};
}

Redirection::Target target_of(std::string_view file) {
  if (file == "/dev/null") return Redirection::Target::nothing;
  if (file == "/dev/stdout") return Redirection::Target::output;
  return file == "/dev/stderr" ? Redirection::Target::error : Redirection::Target::file;
}

Result<std::vector<Token>> tokens_of(std::string_view script, Dialect dialect) {
  return Lexer(script, dialect, 0).run(false);
}

}  // namespace ddptwin::model::shell
