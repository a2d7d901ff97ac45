#include "runtime/model/shell/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ddptwin::model::shell {
namespace {

using Kind = Token::Kind;

class Parser {
 public:
  Parser(std::vector<Token> tokens, Dialect dialect)
      : tokens_(std::move(tokens)), dialect_(dialect) {}

  Result<Node> run() {
    TRY(Node all, list({}, true));
    if (now().kind != Kind::end) return fail(unknown(name_of(now())));
    return all;
  }

 private:
  using Words = std::vector<std::string_view>;
  inline static const Words opening{"if", "until", "while", "for", "{", "case"};

  const Token& now() const { return tokens_[at_]; }

  static std::string name_of(const Token& token) {
    switch (token.kind) {
      case Kind::word:
        return token.word.literal().value_or("a variable");
      case Kind::pipe:
        return "|";
      case Kind::case_end:
        return ";; outside of case";
      case Kind::open:
      case Kind::close:
        return "( ) where a command is due";
      default:
        return "an operator without a command";
    }
  }

  bool is_keyword(std::string_view word) const {
    return now().kind == Kind::word && now().keyword && now().word.literal() == word;
  }

  bool is_one_of(const Words& words) const {
    return std::any_of(words.begin(), words.end(), [&](auto word) { return is_keyword(word); });
  }

  Status expect(std::string_view word) {
    if (!is_keyword(word)) return fail(unknown(fmt::format("no `{}` where one is due", word)));
    ++at_;
    return {};
  }

  // Of what stands between two commands.
  bool ends_line() const {
    if (now().kind == Kind::semicolon || now().kind == Kind::background)
      return tokens_[at_ + 1].kind == Kind::line_end;
    return now().kind == Kind::line_end;
  }

  void skip_lines() {
    while (now().kind == Kind::line_end) ++at_;
  }

  // Until one of these words, the end, ) or ;;. Of a whole script each line is by itself.
  Result<Node> list(const Words& ends, bool whole = false) {
    Node node{Node::Kind::list};
    const auto ended = [&] {
      return now().kind == Kind::end || now().kind == Kind::close || now().kind == Kind::case_end ||
             is_one_of(ends);
    };
    // How a command is joined to what stands before it; bash takes a script line by line, and all
    // of a list within for one.
    std::optional<Kind> joint;
    for (skip_lines(); !ended(); skip_lines()) {
      TRY(Node next, and_or());
      const bool is_list = next.kind == Node::Kind::and_ || next.kind == Node::Kind::or_;
      next.never_in_place = joint == Kind::background || (joint && is_list);
      joint = whole && ends_line() ? std::nullopt : std::optional(now().kind);
      if (now().kind == Kind::background) next = around(Node::Kind::background, std::move(next));
      node.children.push_back(std::move(next));
      if (now().kind == Kind::semicolon || now().kind == Kind::background) {
        ++at_;
      } else if (now().kind != Kind::line_end && !ended()) {
        return fail(unknown(name_of(now())));
      }
    }
    return node;
  }

  static Node around(Node::Kind kind, Node inner) {
    Node node{kind};
    node.children.push_back(std::move(inner));
    return node;
  }

  static Node both(Node::Kind kind, Node left, Node right) {
    Node node{kind};
    node.children.push_back(std::move(left));
    node.children.push_back(std::move(right));
    return node;
  }

  // What a keyword opens has something in it.
  Result<Node> body(const Words& ends) {
    TRY(Node node, list(ends));
    if (node.children.empty()) return fail(unknown("nothing where a command is due"));
    return node;
  }

  Result<Node> and_or() {
    TRY(Node left, pipeline());
    for (int links = 1; now().kind == Kind::and_ || now().kind == Kind::or_; ++links) {
      if (links > links_max) return fail(unknown("more than 400 commands in a chain"));
      TRY_VOID(one_link_more());
      const auto kind = now().kind == Kind::and_ ? Node::Kind::and_ : Node::Kind::or_;
      ++at_;
      skip_lines();
      TRY(Node right, pipeline());
      left = both(kind, std::move(left), std::move(right));
    }
    return left;
  }

  // Each level is calls within calls, here and where it is run; so is each link of a chain.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Status fits() const {
      constexpr int depth_max = 200;
      return depth_ <= depth_max ? Status() : fail(unknown("more than 200 levels"));
    }

   private:
    int& depth_;
  };
  static constexpr int links_max = 400;

  // Chains within chains add up.
  Status one_link_more() {
    constexpr int all_links_max = 2000;
    return ++links_ <= all_links_max ? Status()
                                     : fail(unknown("more than 2000 commands in its chains"));
  }

  Result<Node> pipeline() {
    const Level level(depth_);
    TRY_VOID(level.fits());
    if (is_keyword("!")) {
      ++at_;
      TRY(Node inner, pipeline());
      return around(Node::Kind::not_, std::move(inner));
    }
    TRY(Node left, command_or_compound());
    if (now().kind != Kind::pipe) return left;
    Node node{Node::Kind::pipe};
    node.children.push_back(std::move(left));
    while (now().kind == Kind::pipe) {
      ++at_;
      skip_lines();
      TRY(Node right, command_or_compound());
      node.children.push_back(std::move(right));
    }
    return node;
  }

  // Redirections behind a compound are of all that is in it.
  Result<Node> command_or_compound() {
    const bool compound =
        now().kind == Kind::open || now().kind == Kind::arithmetic || is_one_of(opening);
    const bool named = now().kind == Kind::word && now().keyword;
    if (!compound && named && tokens_[at_ + 1].kind == Kind::open) return function();
    TRY(Node node, simple_or_compound());
    take_redirections(node);
    return node;
  }

  void take_redirections(Node& node) {
    for (; now().kind == Kind::redirection; ++at_)
      node.redirections.push_back(*tokens_[at_].redirection);
  }

  // bash's `function NAME`, with or without ( ).
  Result<Node> named_function() {
    ++at_;
    if (now().kind != Kind::word || !now().keyword) return fail(unknown("function without a name"));
    return function();
  }

  Result<Node> function() {
    const Level level(depth_);
    TRY_VOID(level.fits());
    Node node{Node::Kind::function};
    node.variable = now().word.literal().value_or("");
    if (tokens_[++at_].kind == Kind::open) {
      ++at_;
      if (now().kind != Kind::close) return fail(unknown("( ) where a command is due"));
      ++at_;
    }
    skip_lines();
    TRY(Node body, command_or_compound());
    node.children.push_back(std::move(body));
    return node;
  }

  Result<Node> simple_or_compound() {
    if (is_keyword("if")) return if_node();
    if (is_keyword("until")) return loop(Node::Kind::until);
    if (is_keyword("while")) return loop(Node::Kind::while_);
    if (is_keyword("for")) return for_node();
    if (is_keyword("{")) return group();
    if (is_keyword("case")) return case_node();
    if (is_keyword("[[") && dialect_ == Dialect::bash) return brackets();
    if (is_keyword("function") && dialect_ == Dialect::bash) return named_function();
    if (now().kind == Kind::open) return subshell();
    if (now().kind == Kind::arithmetic) return number(tokens_[at_++].word);
    for (const std::string_view word : {"function", "select", "coproc"}) {
      if (is_keyword(word)) return fail(unknown(word));
    }
    if (is_one_of({"then", "else", "elif", "fi", "do", "done", "esac", "}"}))
      return fail(unknown(fmt::format("`{}` out of its place", name_of(now()))));
    return command();
  }

  Result<Node> group() {
    ++at_;
    TRY(Node node, body({"}"}));
    TRY_VOID(expect("}"));
    return node;
  }

  Result<Node> subshell() {
    ++at_;
    TRY(Node inner, body({}));
    if (now().kind != Kind::close) return fail(unknown("( without its end"));
    ++at_;
    return around(Node::Kind::subshell, std::move(inner));
  }

  static Node plain_command(const std::string& name) {
    Node node;
    node.words.push_back({{{name, Piece::Kind::literal, false, "", {}, {}}}});
    return node;
  }

  // [[ ]] is one command, whatever is in it, so its status is that of one.
  Result<Node> brackets() {
    ++at_;
    TRY(Node all, any_bracket());
    TRY_VOID(expect("]]"));
    if (all.kind == Node::Kind::command || all.kind == Node::Kind::expression) return all;
    Node node{Node::Kind::if_};
    node.children.push_back(std::move(all));
    node.children.push_back(plain_command("true"));
    node.children.push_back(plain_command("false"));
    return node;
  }

  Result<Node> any_bracket() { return joined_brackets(Kind::or_, Node::Kind::or_); }
  Result<Node> all_brackets() { return joined_brackets(Kind::and_, Node::Kind::and_); }

  Result<Node> joined_brackets(Kind between, Node::Kind kind) {
    const auto next = [&] { return kind == Node::Kind::or_ ? all_brackets() : one_bracket(); };
    TRY(Node left, next());
    for (int links = 1; now().kind == between; ++links) {
      if (links > links_max) return fail(unknown("more than 400 tests in a chain"));
      TRY_VOID(one_link_more());
      ++at_;
      skip_lines();
      TRY(Node right, next());
      left = both(kind, std::move(left), std::move(right));
    }
    return left;
  }

  Result<Node> one_bracket() {
    const Level level(depth_);
    TRY_VOID(level.fits());
    if (is_keyword("!")) {
      ++at_;
      TRY(Node inner, one_bracket());
      return around(Node::Kind::not_, std::move(inner));
    }
    if (now().kind == Kind::open) {
      ++at_;
      TRY(Node inner, any_bracket());
      if (now().kind != Kind::close) return fail(unknown("( without its end"));
      ++at_;
      return inner;
    }
    std::vector<Word> words;
    while (now().kind == Kind::word && !is_keyword("]]")) words.push_back(tokens_[at_++].word);
    const auto by = words.size() == 3 ? words[1].literal() : std::nullopt;
    if (by == "==" || by == "=" || by == "!=") return matching(std::move(words), by != "!=");
    if (by == "=~") {
      Node node{Node::Kind::expression};
      node.words = {std::move(words[0]), std::move(words[2])};
      return node;
    }
    for (Word& word : words) join(word);
    Node node = plain_command("[[");
    node.words.insert(node.words.end(), words.begin(), words.end());
    node.words.push_back(plain_command("]]").words.front());
    return node;
  }

  // As `case` has it: on the right stands a pattern.
  static Node matching(std::vector<Word> words, bool wanted) {
    Node node{Node::Kind::case_};
    node.patterns = {{std::move(words[2])}, {plain_command("*").words.front()}};
    words.resize(1);
    node.words = std::move(words);
    for (const bool matches : {true, false}) {
      Node branch{Node::Kind::list};
      branch.children.push_back(plain_command(matches == wanted ? "true" : "false"));
      node.children.push_back(std::move(branch));
    }
    return node;
  }

  Result<Node> case_node() {
    ++at_;
    Node node{Node::Kind::case_};
    if (now().kind != Kind::word) return fail(unknown("case without a word"));
    node.words.push_back(tokens_[at_++].word);
    skip_lines();
    TRY_VOID(expect("in"));
    for (skip_lines(); !is_keyword("esac"); skip_lines()) {
      if (now().kind == Kind::open) ++at_;
      std::vector<Word>& patterns = node.patterns.emplace_back();
      for (;;) {
        if (now().kind != Kind::word) return fail(unknown("case without a pattern"));
        patterns.push_back(tokens_[at_++].word);
        if (now().kind != Kind::pipe) break;
        ++at_;
      }
      if (now().kind != Kind::close) return fail(unknown("case without a )"));
      ++at_;
      TRY(Node branch, list({"esac"}));
      node.children.push_back(std::move(branch));
      if (now().kind == Kind::case_end) {
        ++at_;
      } else if (!is_keyword("esac")) {
        return fail(unknown("case without esac"));
      }
    }
    ++at_;
    return node;
  }

  Result<Node> if_node() {
    ++at_;
    Node node{Node::Kind::if_};
    TRY(Node condition, body({"then"}));
    TRY_VOID(expect("then"));
    TRY(Node then, body({"else", "elif", "fi"}));
    node.children.push_back(std::move(condition));
    node.children.push_back(std::move(then));
    if (is_keyword("elif")) {
      TRY(Node rest, if_node());  // takes the fi
      node.children.push_back(std::move(rest));
      return node;
    }
    if (is_keyword("else")) {
      ++at_;
      TRY(Node otherwise, body({"fi"}));
      node.children.push_back(std::move(otherwise));
    }
    TRY_VOID(expect("fi"));
    return node;
  }

  Result<Node> loop(Node::Kind kind) {
    ++at_;
    Node node{kind};
    TRY(Node condition, body({"do"}));
    TRY_VOID(expect("do"));
    TRY(Node body, body({"done"}));
    TRY_VOID(expect("done"));
    node.children.push_back(std::move(condition));
    node.children.push_back(std::move(body));
    return node;
  }

  static Node number(Word value) {
    Node node{Node::Kind::arithmetic};
    node.words.push_back(std::move(value));
    return node;
  }

  // bash's for ((BEGIN; WHILE; NEXT)).
  Result<Node> counted_loop() {
    Node loop{Node::Kind::counted};
    loop.words = *tokens_[at_++].elements;
    if (now().kind == Kind::semicolon) ++at_;
    skip_lines();
    TRY_VOID(expect("do"));
    TRY(Node inner, body({"done"}));
    TRY_VOID(expect("done"));
    loop.children.push_back(std::move(inner));
    return loop;
  }

  Result<Node> for_node() {
    ++at_;
    if (now().kind == Kind::counted) return counted_loop();
    Node node{Node::Kind::for_};
    node.variable = now().word.literal().value_or("");
    if (!is_variable_name(node.variable)) return fail(unknown("for without a name"));
    ++at_;
    skip_lines();
    node.over_arguments = !is_keyword("in");
    if (!node.over_arguments) ++at_;
    while (!node.over_arguments && now().kind == Kind::word)
      node.words.push_back(tokens_[at_++].word);
    if (now().kind == Kind::semicolon) ++at_;
    skip_lines();
    TRY_VOID(expect("do"));
    TRY(Node inner, body({"done"}));
    TRY_VOID(expect("done"));
    node.children.push_back(std::move(inner));
    return node;
  }

  // What stands before a command's name, the name, and what it is given.
  Result<Node> command() {
    Node node;
    std::vector<Node> arrays;  // of a `local`, set when it has made them
    for (take_redirections(node); now().kind == Kind::word; take_redirections(node)) {
      const Token& token = tokens_[at_++];
      if (node.words.empty() && assignment(token.word, node)) {
        node.assignments.back().elements = token.elements;
        continue;
      }
      const auto first = node.words.empty() ? std::nullopt : node.words.front().literal();
      Node of_array;
      if (token.elements) {
        if (!declares(first) || !assignment(token.word, of_array) ||
            of_array.assignments.front().appends)
          return fail(unknown("NAME=( ) behind a command's name"));
        of_array.assignments.front().elements = token.elements;
        node.words.push_back(plain_command(of_array.assignments.front().name).words.front());
        arrays.push_back(std::move(of_array));
        continue;
      }
      node.words.push_back(token.word);
    }
    if (node.words.empty() && node.assignments.empty() && node.redirections.empty())
      return fail(unknown(name_of(now())));
    TRY_VOID(check(node));
    if (arrays.empty()) return node;
    // What is never to change again has to have its elements by then.
    const bool first = std::any_of(node.words.begin(), node.words.end(), [](const Word& word) {
      const auto text = word.literal().value_or("");
      return text == "readonly" || (text.starts_with('-') && text.find('r') != text.npos);
    });
    if (first && node.words.front().literal() == "local")
      return fail(unknown("local -r of an array"));
    Node all{Node::Kind::list};
    if (!first) all.children.push_back(node);
    for (Node& array : arrays) all.children.push_back(std::move(array));
    if (first) all.children.push_back(std::move(node));
    return all;
  }

  // Commands behind whose names assignments may stand.
  static bool declares(const std::optional<std::string>& name) {
    constexpr std::array<std::string_view, 5> names{"declare", "export", "local", "readonly",
                                                    "typeset"};
    return name && std::find(names.begin(), names.end(), *name) != names.end();
  }

  Status check(Node& node) const {
    // Nothing is split in the values that are exported.
    Node declared;
    const auto first = node.words.empty() ? std::nullopt : node.words.front().literal();
    for (Word& word : node.words) {
      if (declares(first) && assignment(word, declared)) join(word);
    }
    for (const Assignment& one : node.assignments)
      if ((one.elements || one.index) && !node.words.empty())
        return fail(unknown("an array before a command"));
    if (dialect_ == Dialect::bash && !node.words.empty() && begins_element(node.words.front()))
      return fail(unknown("an assignment to an element of an array with blanks in its [ ]"));
    return {};
  }

  // NAME[
  static bool begins_element(const Word& word) {
    if (word.pieces.empty() || word.pieces.front().quoted) return false;
    const std::string& text = word.pieces.front().text;
    const std::size_t bracket = text.find('[');
    return word.pieces.front().kind == Piece::Kind::literal && bracket != text.npos &&
           text.find(']') == text.npos && word.pieces.size() == 1 &&
           is_variable_name(std::string_view(text).substr(0, bracket));
  }

  // NAME[INDEX]=VALUE and NAME[INDEX]+=VALUE.
  static std::optional<Assignment> of_element(const Word& word) {
    if (word.pieces.empty() || word.pieces.front().quoted ||
        word.pieces.front().kind != Piece::Kind::literal)
      return std::nullopt;
    const std::string& text = word.pieces.front().text;
    const std::size_t bracket = text.find('[');
    if (bracket == text.npos || !is_variable_name(std::string_view(text).substr(0, bracket)))
      return std::nullopt;
    Assignment made{text.substr(0, bracket)};
    made.index.emplace();
    std::size_t from = bracket + 1;
    for (std::size_t i = 0; i < word.pieces.size(); ++i, from = 0) {
      const Piece& piece = word.pieces[i];
      const bool written = piece.kind == Piece::Kind::literal && !piece.quoted;
      const std::size_t end = written ? piece.text.find(']', from) : std::string::npos;
      Piece part = piece;
      if (end == std::string::npos) {
        if (from > 0) part.text.erase(0, from);
        made.index->pieces.push_back(std::move(part));
        continue;
      }
      std::string_view behind = std::string_view(piece.text).substr(end + 1);
      made.appends = behind.starts_with("+=");
      if (!made.appends && !behind.starts_with('=')) return std::nullopt;
      behind.remove_prefix(made.appends ? 2 : 1);
      Piece value = piece;
      value.text = std::string(behind);
      part.text = piece.text.substr(from, end - from);
      made.index->pieces.push_back(std::move(part));
      made.value.pieces.push_back(std::move(value));
      made.value.pieces.insert(made.value.pieces.end(), word.pieces.begin() + i + 1,
                               word.pieces.end());
      return made;
    }
    return std::nullopt;
  }

  bool assignment(const Word& word, Node& node) const {
    if (word.pieces.empty() || word.pieces.front().kind != Piece::Kind::literal ||
        word.pieces.front().quoted)
      return false;
    const std::string& text = word.pieces.front().text;
    const std::size_t equals = text.find('=');
    if (auto element = dialect_ == Dialect::bash ? of_element(word) : std::nullopt) {
      node.assignments.push_back(std::move(*element));
      return true;
    }
    if (equals == text.npos || equals == 0) return false;
    const bool appends = dialect_ == Dialect::bash && text[equals - 1] == '+';
    const std::size_t size = equals - (appends ? 1 : 0);
    if (!is_variable_name(std::string_view(text).substr(0, size))) return false;
    Word value = word;
    value.pieces.front().text = text.substr(equals + 1);
    node.assignments.push_back({text.substr(0, size), std::move(value), {}, {}, appends});
    return true;
  }

  std::vector<Token> tokens_;
  Dialect dialect_;
  std::size_t at_ = 0;
  int depth_ = 0, links_ = 0;
};

}  // namespace

Result<Node> parse(std::string_view script, Dialect dialect) {
  TRY(std::vector<Token> tokens, tokens_of(script, dialect));
  return parse(std::move(tokens), dialect);
}

Result<Node> parse(std::vector<Token> tokens, Dialect dialect) {
  return Parser(std::move(tokens), dialect).run();
}

}  // namespace ddptwin::model::shell
