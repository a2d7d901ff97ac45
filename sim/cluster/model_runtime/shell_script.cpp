#include "cluster/model_runtime/shell_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace ddptwin::model::shell {
namespace {

struct Token {
  enum class Kind : std::uint8_t { word, separator, and_, or_, end };
  Kind kind = Kind::end;
  Word word{};
  bool quiet = false, error_quiet = false;  // redirections to /dev/null stood behind it
  bool keyword = false;                     // unquoted letters only, so it may be one
};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

Error unknown(std::string_view what) {
  return Error{Reason::invalid, "", fmt::format("its script uses {}", what), nullptr, 0, {}};
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    for (;;) {
      skip_blanks();
      if (text_.empty()) break;
      TRY_VOID(next());
    }
    tokens_.push_back({});
    return std::move(tokens_);
  }

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
    constexpr std::array<std::pair<std::string_view, Token::Kind>, 4> operators{
        {{"&&", Token::Kind::and_},
         {"||", Token::Kind::or_},
         {";", Token::Kind::separator},
         {"\n", Token::Kind::separator}}};
    for (const auto& [text, kind] : operators) {
      if (!text_.starts_with(text)) continue;
      text_.remove_prefix(text.size());
      tokens_.push_back({kind});
      return {};
    }
    if (redirection()) return {};
    for (const char c : {'|', '&', '<', '>', '(', ')', '`'}) {
      if (text_.front() == c) return fail(unknown(std::string(1, c)));
    }
    return word();
  }

  // Only into nothing: what else there could be needs files.
  bool redirection() {
    for (const std::string_view text :
         {">/dev/null", "> /dev/null", "1>/dev/null", "&>/dev/null", "2>/dev/null", "2>&1",
          "> /dev/stdout", ">&2", "1>&2", "</dev/null"}) {
      if (!text_.starts_with(text)) continue;
      text_.remove_prefix(text.size());
      if (!tokens_.empty()) redirect(text, tokens_.back());
      return true;
    }
    return false;
  }

  static void redirect(std::string_view text, Token& token) {
    const bool null = text.ends_with("null") && !text.starts_with('<');
    if (null && !text.starts_with('2')) token.quiet = true;
    if (null && (text.starts_with('2') || text.starts_with('&'))) token.error_quiet = true;
    if (text == "2>&1") token.error_quiet = token.quiet;
  }

  Status word() {
    Token token{Token::Kind::word};
    token.keyword = true;
    while (!text_.empty()) {
      const char c = text_.front();
      if (std::string_view(" \t\r\n;&|<>()").find(c) != std::string_view::npos) break;
      if (c == '`') return fail(unknown("`"));
      if (c == '\'' || c == '"' || c == '\\' || c == '$') token.keyword = false;
      if (c == '\'') {
        const std::size_t end = text_.find('\'', 1);
        if (end == text_.npos) return fail(unknown("a quote without its end"));
        token.word.pieces.push_back({std::string(text_.substr(1, end - 1)), false, true});
        text_.remove_prefix(end + 1);
      } else if (c == '"') {
        text_.remove_prefix(1);
        token.word.pieces.push_back({"", false, true});
        TRY_VOID(double_quoted(token.word));
      } else if (c == '$') {
        TRY_VOID(variable(token.word, false));
      } else if (c == '\\' && text_.size() > 1) {
        literal(token.word, text_[1], true);
        text_.remove_prefix(2);
      } else {
        literal(token.word, c, false);
        text_.remove_prefix(1);
      }
    }
    tokens_.push_back(std::move(token));
    return {};
  }

  Status double_quoted(Word& word) {
    while (!text_.empty()) {
      const char c = text_.front();
      if (c == '"') {
        text_.remove_prefix(1);
        return {};
      }
      if (c == '`') return fail(unknown("`"));
      if (c == '$') {
        TRY_VOID(variable(word, true));
        continue;
      }
      const bool escaped = c == '\\' && text_.size() > 1 &&
                           std::string_view("\"\\$`").find(text_[1]) != std::string_view::npos;
      literal(word, escaped ? text_[1] : c, true);
      text_.remove_prefix(escaped ? 2 : 1);
    }
    return fail(unknown("a quote without its end"));
  }

  static void literal(Word& word, char c, bool quoted) {
    if (word.pieces.empty() || word.pieces.back().variable || word.pieces.back().quoted != quoted)
      word.pieces.push_back({"", false, quoted});
    word.pieces.back().text += c;
  }

  Status variable(Word& word, bool quoted) {
    text_.remove_prefix(1);
    if (text_.starts_with("(seq ")) return sequence(word);
    if (text_.starts_with('(')) return fail(unknown("$( )"));
    const bool braces = text_.starts_with('{');
    if (braces) text_.remove_prefix(1);
    std::size_t size = 0;
    if (!text_.empty() && (text_.front() == '?' || text_.front() == '#')) {
      size = 1;
    } else {
      while (size < text_.size() && is_name(text_[size])) ++size;
    }
    if (size == 0 && !braces) {
      literal(word, '$', true);
      return {};
    }
    word.pieces.push_back({std::string(text_.substr(0, size)), true, quoted});
    text_.remove_prefix(size);
    if (!braces) return {};
    if (!text_.starts_with('}')) return fail(unknown("${ } with more than a name"));
    text_.remove_prefix(1);
    return {};
  }

  Status sequence(Word& word) {
    constexpr std::size_t begin = 5;  // of "(seq "
    int count = 0;
    const auto [stop, error] =
        std::from_chars(text_.data() + begin, text_.data() + text_.size(), count);
    if (error != std::errc{} || stop == text_.data() + text_.size() || *stop != ')')
      return fail(unknown("$(seq ) with more than one number"));
    word.sequence = std::max(count, 0);
    if (count <= 0) word.pieces.push_back({"", false, false});
    text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()) + 1);
    return {};
  }

  std::string_view text_;
  std::vector<Token> tokens_;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Node> run() {
    TRY(Node all, list({}));
    if (now().kind != Token::Kind::end) return fail(unknown(name_of(now())));
    return all;
  }

 private:
  using Words = std::vector<std::string_view>;

  const Token& now() const { return tokens_[at_]; }

  static std::string name_of(const Token& token) {
    return token.kind == Token::Kind::word ? token.word.literal().value_or("a variable")
                                           : std::string("an operator without a command");
  }

  bool is_keyword(std::string_view word) const {
    return now().kind == Token::Kind::word && now().keyword && now().word.literal() == word;
  }

  bool is_one_of(const Words& words) const {
    return std::any_of(words.begin(), words.end(), [&](auto word) { return is_keyword(word); });
  }

  Status expect(std::string_view word) {
    if (!is_keyword(word)) return fail(unknown(fmt::format("no `{}` where one is due", word)));
    ++at_;
    return {};
  }

  void skip_separators() {
    while (now().kind == Token::Kind::separator) ++at_;
  }

  Result<Node> list(const Words& ends) {
    Node node{Node::Kind::list};
    for (skip_separators(); now().kind != Token::Kind::end && !is_one_of(ends); skip_separators()) {
      TRY(Node next, and_or());
      node.children.push_back(std::move(next));
      if (now().kind != Token::Kind::separator && now().kind != Token::Kind::end &&
          !is_one_of(ends))
        return fail(unknown(name_of(now())));
    }
    return node;
  }

  Result<Node> and_or() {
    TRY(Node left, pipeline());
    while (now().kind == Token::Kind::and_ || now().kind == Token::Kind::or_) {
      Node both{now().kind == Token::Kind::and_ ? Node::Kind::and_ : Node::Kind::or_};
      ++at_;
      while (now().kind == Token::Kind::separator) ++at_;
      TRY(Node right, pipeline());
      both.children.push_back(std::move(left));
      both.children.push_back(std::move(right));
      left = std::move(both);
    }
    return left;
  }

  Result<Node> pipeline() {
    if (is_keyword("!")) {
      ++at_;
      Node node{Node::Kind::not_};
      TRY(Node inner, pipeline());
      node.children.push_back(std::move(inner));
      return node;
    }
    if (is_keyword("if")) return if_node();
    if (is_keyword("until")) return loop(Node::Kind::until);
    if (is_keyword("while")) return loop(Node::Kind::while_);
    if (is_keyword("for")) return for_node();
    for (const std::string_view word : {"case", "{", "function", "select", "trap", "eval"}) {
      if (is_keyword(word)) return fail(unknown(word));
    }
    return command();
  }

  Result<Node> if_node() {
    ++at_;
    Node node{Node::Kind::if_};
    TRY(Node condition, list({"then"}));
    TRY_VOID(expect("then"));
    TRY(Node then, list({"else", "elif", "fi"}));
    node.children.push_back(std::move(condition));
    node.children.push_back(std::move(then));
    if (is_keyword("elif")) {
      TRY(Node rest, if_node());  // takes the fi
      node.children.push_back(std::move(rest));
      return node;
    }
    if (is_keyword("else")) {
      ++at_;
      TRY(Node otherwise, list({"fi"}));
      node.children.push_back(std::move(otherwise));
    }
    TRY_VOID(expect("fi"));
    return node;
  }

  Result<Node> loop(Node::Kind kind) {
    ++at_;
    Node node{kind};
    TRY(Node condition, list({"do"}));
    TRY_VOID(expect("do"));
    TRY(Node body, list({"done"}));
    TRY_VOID(expect("done"));
    node.children.push_back(std::move(condition));
    node.children.push_back(std::move(body));
    return node;
  }

  Result<Node> for_node() {
    ++at_;
    Node node{Node::Kind::for_};
    node.variable = now().word.literal().value_or("");
    ++at_;
    TRY_VOID(expect("in"));
    while (now().kind == Token::Kind::word) node.words.push_back(tokens_[at_++].word);
    skip_separators();
    TRY_VOID(expect("do"));
    TRY(Node body, list({"done"}));
    TRY_VOID(expect("done"));
    node.children.push_back(std::move(body));
    return node;
  }

  Result<Node> command() {
    Node node;
    for (; now().kind == Token::Kind::word; ++at_) {
      node.quiet |= now().quiet;
      node.error_quiet |= now().error_quiet;
      if (node.words.empty() && assignment(node)) continue;
      node.words.push_back(now().word);
    }
    if (node.words.empty() && node.assignments.empty())
      return fail(unknown("an operator without a command"));
    return node;
  }

  bool assignment(Node& node) {
    const Word& word = now().word;
    if (word.pieces.empty() || word.pieces.front().variable || word.pieces.front().quoted)
      return false;
    const std::string& text = word.pieces.front().text;
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || !is_name_start(text.front()) ||
        !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(equals), is_name))
      return false;
    Word value = word;
    value.pieces.front().text = text.substr(equals + 1);
    node.assignments.emplace_back(text.substr(0, equals), std::move(value));
    return true;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> Word::literal() const {
  std::string text;
  if (sequence != 0) return std::nullopt;
  for (const Piece& piece : pieces) {
    if (piece.variable) return std::nullopt;
    text += piece.text;
  }
  return text;
}

Result<Node> parse(std::string_view script) {
  TRY(std::vector<Token> tokens, Lexer(script).run());
  return Parser(std::move(tokens)).run();
}

}  // namespace ddptwin::model::shell
