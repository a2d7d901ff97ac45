#include "runtime/model/shell/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/model/shell/braces.hpp"
#include "runtime/model/shell/word_lexer.hpp"

namespace ddptwin::model::shell {
namespace {

using Kind = Token::Kind;

struct Mark {
  std::string_view text;
  Kind kind;  // end: not understood
};
constexpr std::array marks{Mark{"&&", Kind::and_},     Mark{"||", Kind::or_},
                           Mark{"|&", Kind::end},      Mark{"|", Kind::pipe},
                           Mark{";;", Kind::case_end}, Mark{";", Kind::semicolon},
                           Mark{"((", Kind::end},      Mark{"(", Kind::open},
                           Mark{")", Kind::close},     Mark{"&", Kind::background}};

class Lexer : public WordLexer {
 public:
  using WordLexer::WordLexer;

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
    if (!here_documents_.empty()) return fail(unknown("<< without its end"));
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
      for (const HereDocument& one : std::exchange(here_documents_, {})) TRY_VOID(read(one));
      tokens_.push_back({Kind::line_end});
      return {};
    }
    if (in_brackets_ && is_behind("=~")) return word();
    if (in_brackets_ && (text_.front() == '<' || text_.front() == '>')) {
      Token token{Kind::word};
      literal(token.word, text_.front(), true);
      text_.remove_prefix(1);
      tokens_.push_back(std::move(token));
      return {};
    }
    TRY(const bool redirects, redirection());
    if (redirects) return {};
    if (text_.starts_with("((") && dialect_ == Dialect::bash) {
      if (is_behind("for")) return counted_loop();
      if (begins_command()) return arithmetic_command();
    }
    if (text_.starts_with("|&") && dialect_ == Dialect::bash) {
      TRY_VOID(
          redirect({.of_output = false, .of_error = true, .target = Redirection::Target::output}));
      text_.remove_prefix(2);
      tokens_.push_back({Kind::pipe});
      return {};
    }
    for (const Mark& one : marks) {
      if (!text_.starts_with(one.text)) continue;
      if (one.kind == Kind::end) return fail(unknown(one.text));
      text_.remove_prefix(one.text.size());
      tokens_.push_back({one.kind});
      return {};
    }
    return word();
  }

  // Whether a command may begin here.
  bool begins_command() const {
    if (tokens_.empty()) return true;
    const Token& last = tokens_.back();
    if (last.kind == Kind::redirection) return false;
    if (last.kind != Kind::word) return true;
    constexpr std::array<std::string_view, 9> before{"if",    "then", "else", "elif", "while",
                                                     "until", "do",   "!",    "{"};
    const auto word = last.keyword ? last.word.literal() : std::nullopt;
    return word && std::find(before.begin(), before.end(), *word) != before.end();
  }

  Status arithmetic_command() {
    Token token{Kind::arithmetic};
    TRY_VOID(arithmetic(token.word, true));
    tokens_.push_back(std::move(token));
    return {};
  }

  bool is_behind(std::string_view word) const {
    return !tokens_.empty() && tokens_.back().keyword && tokens_.back().word.literal() == word;
  }

  // Behind bash's `for`: ((BEGIN; WHILE; NEXT)). Nothing is 1.
  Status counted_loop() {
    Token token{Kind::counted};
    token.elements.emplace();
    text_.remove_prefix(2);
    for (const std::string_view end : {";", ";", "))"}) {
      Word part;
      const std::size_t blanks = text_.find_first_not_of(" \t\n");
      if (blanks != text_.npos && text_.substr(blanks).starts_with(end)) {
        literal(part, '1', true);
        text_.remove_prefix(blanks);
      } else {
        TRY_VOID(number(part, true, end));
      }
      text_.remove_prefix(end.size());
      token.elements->push_back(std::move(part));
    }
    tokens_.push_back(std::move(token));
    return {};
  }

  struct HereDocument {
    std::size_t token = 0;  // the redirection
    std::string end{};
    bool without_tabs = false, quoted = false;  // <<-; its end has quotes
  };

  Status redirect(Redirection made) {
    Token token{Kind::redirection};
    token.redirection = std::move(made);
    tokens_.push_back(std::move(token));
    return {};
  }

  // <<END, whose text stands behind this line, or bash's <<<TEXT.
  Status document() {
    const bool text_follows = text_.starts_with("<<<");
    if (text_follows && dialect_ == Dialect::dash) return fail(unknown("<<<"));
    const bool without_tabs = text_.starts_with("<<-");
    text_.remove_prefix(text_follows || without_tabs ? 3 : 2);
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t"), text_.size()));
    if (text_.empty() || ends_word(text_.front())) return fail(unknown("<< without a word"));
    const std::string_view begin = text_;
    Redirection made{.of_input = true, .of_output = false, .target = Redirection::Target::text};
    TRY_VOID(pieces(made.file));
    if (text_follows) {
      for (Piece& piece : made.file.pieces) piece.quoted = true;
      literal(made.file, '\n', true);
      join(made.file);
      return redirect(std::move(made));
    }
    const auto end = made.file.literal();
    if (!end) return fail(unknown("<< with $ in its end"));
    const std::string_view written = begin.substr(0, begin.size() - text_.size());
    here_documents_.push_back(
        {tokens_.size(), *end, without_tabs, written.find_first_of("'\"\\") != written.npos});
    return redirect(std::move(made));
  }

  std::string next_line() {
    const std::size_t size = std::min(text_.find('\n'), text_.size());
    std::string line(text_.substr(0, size));
    text_.remove_prefix(std::min(size + 1, text_.size()));
    return line;
  }

  // A backslash, which is none that stands for itself, joins the next line.
  static bool goes_on(const std::string& line) {
    const std::size_t last = line.find_last_not_of('\\');
    return (line.size() - (last == line.npos ? 0 : last + 1)) % 2 == 1;
  }

  // The lines up to its end.
  Status read(const HereDocument& document) {
    std::string text;
    for (;;) {
      if (text_.empty()) return fail(unknown("<< without its end"));
      std::string line = next_line();
      while (!document.quoted && goes_on(line) && !text_.empty()) {
        line.pop_back();
        line += next_line();
      }
      if (document.without_tabs) line.erase(0, line.find_first_not_of('\t'));
      if (line == document.end) break;
      text += line + '\n';
    }
    Word word{{literal_piece(text, true)}};
    if (!document.quoted) {
      TRY(word, WordLexer(text, dialect_, depth_).document());
    }
    join(word);
    tokens_[document.token].redirection->file = std::move(word);
    return {};
  }

  // Which of the three streams stands before a redirection: 0, 1, 2, or & for two of them; ' ':
  // none.
  char stream_before() const {
    if (text_.size() < 2 || (text_[1] != '>' && text_[1] != '<')) return ' ';
    const char stream = text_.front();
    const bool known =
        text_[1] == '>' ? stream == '1' || stream == '2' || stream == '&' : stream == '0';
    return known ? stream : ' ';
  }

  Result<bool> redirection() {
    std::string_view rest = text_;
    const char stream = stream_before();
    if (stream == ' ' && is_digit(rest.front()) && rest.size() > 1 &&
        (rest[1] == '>' || rest[1] == '<'))
      return fail(unknown(rest.substr(0, 2)));
    if (stream == '&' && dialect_ == Dialect::dash)
      return fail(unknown("&>, which `sh` takes for & and a >"));
    if (stream != ' ') rest.remove_prefix(1);
    if (!rest.starts_with('>') && !rest.starts_with('<')) return false;
    if (rest.starts_with("<<")) {
      text_ = rest;
      TRY_VOID(document());
      return true;
    }
    if (rest.starts_with("<(") || rest.starts_with(">(")) return fail(unknown(rest.substr(0, 2)));
    Redirection made;
    made.of_input = rest.starts_with('<');
    made.appends = rest.starts_with(">>");
    rest.remove_prefix(made.appends || rest.starts_with(">|") || rest.starts_with("<>") ? 2 : 1);
    made.of_error = !made.of_input && stream != ' ' && stream != '1';
    made.of_output = !made.of_input && stream != '2';
    // bash's >& without a number.
    if (dialect_ == Dialect::bash && stream == ' ' && rest.starts_with('&') && rest.size() > 1 &&
        !is_digit(rest[1]) && rest[1] != '-' && !made.of_input) {
      made.of_error = true;
      rest.remove_prefix(1);
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    text_ = rest;
    TRY_VOID(target(made));
    TRY_VOID(redirect(std::move(made)));
    return true;
  }

  // Behind the > or <.
  Status target(Redirection& made) {
    using Target = Redirection::Target;
    struct Copy {
      std::string_view text;
      Target target;
    };
    constexpr std::array copies{Copy{"&1", Target::output}, Copy{"&2", Target::error},
                                Copy{"&-", Target::nothing}};
    for (const Copy& one : copies) {
      if (!text_.starts_with(one.text) || (made.of_input && one.target != Target::nothing))
        continue;
      made.target = one.target;
      text_.remove_prefix(one.text.size());
      return {};
    }
    if (dialect_ == Dialect::bash && text_.starts_with(made.of_input ? "<(" : ">(")) {
      made.target = Target::command;
      text_.remove_prefix(1);
      return output(made.file, true);
    }
    if (text_.empty() || ends_word(text_.front())) return fail(unknown(made.of_input ? "<" : ">"));
    return pieces(made.file);
  }

  Status word() {
    Token token{Kind::word};
    if (in_brackets_ && is_behind("=~")) {
      TRY_VOID(regular_expression(token.word));
      tokens_.push_back(std::move(token));
      return {};
    }
    const std::string_view begin = text_;
    const bool begins = begins_command();
    TRY_VOID(pieces(token.word));
    const std::string_view whole = begin.substr(0, begin.size() - text_.size());
    token.keyword = whole.find_first_of("'\"\\$`") == whole.npos;
    if (dialect_ == Dialect::bash && whole == "[[" && begins) in_brackets_ = true;
    if (whole == "]]") in_brackets_ = false;
    if (dialect_ == Dialect::bash && text_.starts_with('(') && is_array(whole)) {
      TRY(token.elements, elements());
    }
    const bool assigns = is_assignment(whole) && (begins || assigning_);
    assigning_ = assigns;
    if (dialect_ == Dialect::dash || in_brackets_ || assigns) {
      tokens_.push_back(std::move(token));
      return {};
    }
    TRY(std::vector<Word> words, with_braces(token.word));
    token.keyword = token.keyword && words.size() == 1;
    for (Word& one : words) {
      token.word = std::move(one);
      tokens_.push_back(token);
    }
    return {};
  }

  // NAME=..., whose value has no braces.
  static bool is_assignment(std::string_view word) {
    return word.find('=') != word.npos && is_variable_name(word.substr(0, word.find('=')));
  }

  // NAME= and NAME+=, behind which a ( makes an array.
  static bool is_array(std::string_view word) {
    if (!word.ends_with('=')) return false;
    word.remove_suffix(word.ends_with("+=") ? 2 : 1);
    return is_variable_name(word);
  }

  Result<std::vector<Word>> elements() {
    text_.remove_prefix(1);
    std::vector<Word> all;
    for (;;) {
      skip_blanks();
      if (text_.empty()) return fail(unknown("( without its end"));
      const char c = text_.front();
      if (c == ')' || c == '\n') text_.remove_prefix(1);
      if (c == ')') return all;
      if (c == '\n') continue;
      const std::string_view begin = text_;
      Word word;
      TRY_VOID(pieces(word));
      TRY(std::vector<Word> words, with_braces(word));
      all.insert(all.end(), words.begin(), words.end());
      const std::string_view whole = begin.substr(0, begin.size() - text_.size());
      if (whole.empty()) return fail(unknown("( ) with more than words"));
      if (whole.starts_with('[') && whole.find("]=") != whole.npos)
        return fail(unknown("[ ]= in an array"));
    }
  }

  std::vector<Token> tokens_{};
  std::vector<HereDocument> here_documents_{};  // begun on this line
  bool in_brackets_ = false;                    // bash's [[ ]]
  bool assigning_ = false;                      // the last word stands before a command
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

Result<std::vector<Token>> tokens_of(std::string_view script, Dialect dialect, int depth) {
  return Lexer(script, dialect, depth).run(false);
}

Result<std::vector<Token>> tokens_within(std::string_view& text, Dialect dialect, int depth) {
  Lexer lexer(text, dialect, depth);
  TRY(std::vector<Token> tokens, lexer.run(true));
  text = lexer.rest();
  return tokens;
}

}  // namespace ddptwin::model::shell
