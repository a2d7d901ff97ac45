#include "cluster/model_runtime/shell_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace ddptwin::model::shell {
namespace {

struct Token {
  enum class Kind : std::uint8_t { word, separator, and_, or_, pipe, end };
  Kind kind = Kind::end;
  Word word{};
  bool quiet = false, error_quiet = false;  // redirections to /dev/null stood behind it
  bool keyword = false;                     // unquoted letters only, so it may be one
};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

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
    constexpr std::array<std::pair<std::string_view, Token::Kind>, 6> operators{
        {{"&&", Token::Kind::and_},
         {"||", Token::Kind::or_},
         {"|&", Token::Kind::end},  // not understood
         {"|", Token::Kind::pipe},
         {";", Token::Kind::separator},
         {"\n", Token::Kind::separator}}};
    for (const auto& [text, kind] : operators) {
      if (!text_.starts_with(text)) continue;
      if (kind == Token::Kind::end) return fail(unknown(text));
      text_.remove_prefix(text.size());
      tokens_.push_back({kind});
      return {};
    }
    TRY(const bool redirects, redirection());
    if (redirects) return {};
    for (const char c : {'&', '<', '>', '(', ')', '`'}) {
      if (text_.front() == c) return fail(unknown(std::string(1, c)));
    }
    return word();
  }

  // [N]>FILE, [N]>>FILE, &>FILE, [N]>&N, <FILE: only into and from nothing, and from one stream
  // into the other. What else there could be needs files.
  Result<bool> redirection() {
    std::string_view rest = text_;
    const char stream = rest.front();
    const bool numbered =
        rest.size() > 1 && (stream == '1' || stream == '2' || stream == '&') && rest[1] == '>';
    if (numbered) rest.remove_prefix(1);
    if (!rest.starts_with('>') && !rest.starts_with('<')) return false;
    const bool input = rest.front() == '<';
    rest.remove_prefix(rest.starts_with(">>") ? 2 : 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    for (const std::string_view target : {"/dev/null", "/dev/stdout", "/dev/stderr", "&1", "&2"}) {
      if (!rest.starts_with(target)) continue;
      if (input && target != "/dev/null") break;
      if (tokens_.empty() || tokens_.back().kind != Token::Kind::word)
        return fail(unknown("a redirection before its command"));
      text_ = rest.substr(target.size());
      const bool null = target == "/dev/null" && !input;
      const bool error = numbered && stream == '2', both = numbered && stream == '&';
      Token& token = tokens_.back();
      if (null && !error) token.quiet = true;
      if (null && (error || both)) token.error_quiet = true;
      if (error && (target == "&1" || target == "/dev/stdout")) token.error_quiet = token.quiet;
      return true;
    }
    return fail(unknown(std::string(1, input ? '<' : '>')));
  }

  Status word() {
    Token token{Token::Kind::word};
    const std::string_view begin = text_;
    while (!text_.empty() && std::string_view(" \t\r\n;&|<>()").find(text_.front()) == text_.npos)
      TRY_VOID(piece(token.word, false));
    const std::string_view whole = begin.substr(0, begin.size() - text_.size());
    token.keyword = whole.find_first_of("'\"\\$") == whole.npos;
    tokens_.push_back(std::move(token));
    return {};
  }

  // A quoted part, an expansion, or a character.
  Status piece(Word& word, bool quoted) {
    const char c = text_.front();
    if (c == '`') return fail(unknown("`"));
    if (c == '$') return expansion(word, quoted);
    if (c == '\'' && !quoted) {
      const std::size_t end = text_.find('\'', 1);
      if (end == text_.npos) return fail(unknown("a quote without its end"));
      word.pieces.push_back(literal_piece(text_.substr(1, end - 1), true));
      text_.remove_prefix(end + 1);
      return {};
    }
    if (c == '"' && !quoted) {
      text_.remove_prefix(1);
      word.pieces.push_back(literal_piece("", true));
      return double_quoted(word);
    }
    const bool escapes =
        !quoted || (text_.size() > 1 && std::string_view("\"\\$`}").find(text_[1]) != text_.npos);
    const bool escaped = c == '\\' && text_.size() > 1 && escapes;
    literal(word, escaped ? text_[1] : c, quoted || escaped);
    text_.remove_prefix(escaped ? 2 : 1);
    return {};
  }

  Status double_quoted(Word& word) {
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
    return {std::string(text), Piece::Kind::literal, quoted, "", {}};
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
    if (text_.starts_with("(seq ")) return sequence(word);
    constexpr std::string_view hostname = "(hostname)";
    if (text_.starts_with(hostname)) {
      word.pieces.push_back({"hostname()", Piece::Kind::variable, quoted, "", {}});
      text_.remove_prefix(hostname.size());
      return {};
    }
    if (text_.starts_with('(')) return fail(unknown("$( )"));
    if (text_.starts_with('\'')) return fail(unknown("$'"));
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
        {std::string(text_.substr(0, size)), Piece::Kind::variable, quoted, "", {}});
    text_.remove_prefix(size);
    return {};
  }

  // Of the parameter's name that the text begins with.
  std::size_t name_size(bool in_braces) const {
    if (text_.empty()) return 0;
    if (std::string_view("?#$!@*").find(text_.front()) != text_.npos) return 1;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (is_digit(text_.front()) && !in_braces) return 1;
    std::size_t size = 0;
    while (size < text_.size() && is_name(text_[size])) ++size;
    return size;
  }

  Status braces(Word& word, bool quoted) {
    Piece made{"", Piece::Kind::variable, quoted, "", {}};
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
      if (++depth_ > 20) return fail(unknown("${ } within ${ } more than 20 times"));
      Word behind;
      while (!made.operation.empty() && !text_.empty() && !text_.starts_with('}'))
        TRY_VOID(piece(behind, quoted && !pattern));
      made.word = std::move(behind.pieces);
      --depth_;
    }
    if (size == 0 || !text_.starts_with('}'))
      return fail(unknown("${ } with more than a name and one operation"));
    text_.remove_prefix(1);
    word.pieces.push_back(std::move(made));
    return {};
  }

  Status arithmetic(Word& word, bool quoted) {
    text_.remove_prefix(2);
    std::size_t end = 0;
    int depth = 0;
    for (; end < text_.size() && (depth > 0 || text_[end] != ')'); ++end)
      depth += text_[end] == '(' ? 1 : text_[end] == ')' ? -1 : 0;
    const std::string_view expression = text_.substr(0, end);
    constexpr std::size_t size_max = 200;
    bool known = end <= size_max && std::all_of(expression.begin(), expression.end(), [](char c) {
                   return is_name(c) || std::string_view(" \t\n${}()+-*/%<>=!&|").find(c) !=
                                            std::string_view::npos;
                 });
    for (const std::string_view other : {"<<", ">>", "++", "--"})
      known = known && expression.find(other) == expression.npos;
    for (const char c : {'=', '&', '|'}) known = known && is_comparing(expression, c);
    if (!known || !text_.substr(end).starts_with("))"))
      return fail(unknown("$(( )) with more than numbers, names and + - * / % < > = ! && ||"));
    word.pieces.push_back({std::string(expression), Piece::Kind::arithmetic, quoted, "", {}});
    text_.remove_prefix(end + 2);
    return {};
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

  Status sequence(Word& word) {
    constexpr std::size_t begin = 5;  // of "(seq "
    int count = 0;
    const auto [stop, error] =
        std::from_chars(text_.data() + begin, text_.data() + text_.size(), count);
    if (error != std::errc{} || stop == text_.data() + text_.size() || *stop != ')')
      return fail(unknown("$(seq ) with more than one number"));
    word.sequence = std::max(count, 0);
    if (count <= 0) word.pieces.push_back(literal_piece("", false));
    text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()) + 1);
    return {};
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  int depth_ = 0;  // of ${ }
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
    if (token.kind == Token::Kind::pipe) return "|";
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

  // Each is a call within a call where it is run.
  Status count() {
    constexpr int commands_max = 400;
    if (++commands_ > commands_max) return fail(unknown("more than 400 commands"));
    return {};
  }

  Result<Node> pipeline() {
    TRY_VOID(count());
    if (is_keyword("!")) {
      ++at_;
      Node node{Node::Kind::not_};
      TRY(Node inner, pipeline());
      node.children.push_back(std::move(inner));
      return node;
    }
    TRY(Node left, piped());
    if (now().kind != Token::Kind::pipe) return left;
    ++at_;
    TRY(const Node right, piped());
    // Whatever else reads the output would have to be a process. What a shell does itself it does
    // in a process of its own here.
    constexpr std::array<std::string_view, 10> of_the_shell{
        "exit", "cd", "set", "break", "continue", "export", "unset", "shift", "exec", "wait"};
    const std::string first =
        left.words.empty() ? std::string() : left.words.front().literal().value_or("");
    const bool own =
        std::find(of_the_shell.begin(), of_the_shell.end(), first) != of_the_shell.end();
    if (own || left.kind != Node::Kind::command || right.kind != Node::Kind::command ||
        left.words.empty() || right.words.empty() || right.words.front().literal() != "tee" ||
        !right.assignments.empty())
      return fail(unknown("|"));
    if (right.quiet) silence(left, true, false);
    Node node{Node::Kind::tee};
    node.children.push_back(std::move(left));
    return node;
  }

  // Redirections behind a compound are of all that is in it.
  static void silence(Node& node, bool output, bool error) {
    node.quiet |= output;
    node.error_quiet |= error;
    for (Node& child : node.children) silence(child, output, error);
  }

  Result<Node> piped() {
    const bool compound = is_one_of({"if", "until", "while", "for", "{"});
    TRY(Node node, simple_or_compound());
    if (compound) silence(node, tokens_[at_ - 1].quiet, tokens_[at_ - 1].error_quiet);
    return node;
  }

  Result<Node> simple_or_compound() {
    if (is_keyword("if")) return if_node();
    if (is_keyword("until")) return loop(Node::Kind::until);
    if (is_keyword("while")) return loop(Node::Kind::while_);
    if (is_keyword("for")) return for_node();
    if (is_keyword("{")) return group();
    for (const std::string_view word : {"case", "function", "select", "trap", "eval"}) {
      if (is_keyword(word)) return fail(unknown(word));
    }
    return command();
  }

  Result<Node> group() {
    ++at_;
    TRY(Node node, list({"}"}));
    TRY_VOID(expect("}"));
    return node;
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
    // Nothing is split within [[ ]], nor in the values that are exported.
    const auto first = node.words.empty() ? std::nullopt : node.words.front().literal();
    if (first == "[[" || first == "export") {
      for (Word& word : node.words)
        for (Piece& piece : word.pieces) piece.quoted = true;
    }
    return node;
  }

  bool assignment(Node& node) {
    const Word& word = now().word;
    if (word.pieces.empty() || word.pieces.front().kind != Piece::Kind::literal ||
        word.pieces.front().quoted)
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
  int commands_ = 0;
};

}  // namespace

Result<Node> parse(std::string_view script) {
  TRY(std::vector<Token> tokens, Lexer(script).run());
  return Parser(std::move(tokens)).run();
}

}  // namespace ddptwin::model::shell
