#include "objects/selector.hpp"

#include <algorithm>
#include <optional>

#include "core/numbers.hpp"

namespace ddptwin {
namespace {

using Operator = LabelRequirement::Operator;

struct Token {
  enum class Kind : std::uint8_t { word, symbol, end };
  Kind kind = Kind::end;
  std::string_view text{};
};

// Words and the symbols = == != < > ! , ( ), as the labels package cuts them.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token peek() const {
    Lexer copy = *this;
    return copy.next();
  }
  Token next() {
    while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
    if (text_.empty()) return {};
    if (is_symbol(text_.front())) return symbol();
    std::size_t size = 0;
    while (size < text_.size() && !is_space(text_[size]) && !is_symbol(text_[size])) ++size;
    return take(Token::Kind::word, size);
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_symbol(char c) {
    return std::string_view("=!(),><").find(c) != std::string_view::npos;
  }
  Token symbol() {
    for (const std::string_view two : {"==", "!="})
      if (text_.starts_with(two)) return take(Token::Kind::symbol, 2);
    return take(Token::Kind::symbol, 1);
  }
  Token take(Token::Kind kind, std::size_t size) {
    const Token token{kind, text_.substr(0, size)};
    text_.remove_prefix(size);
    return token;
  }

  std::string_view text_;
};

class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : lexer_(text) {}

  Result<std::vector<LabelRequirement>> parse() {
    std::vector<LabelRequirement> out;
    if (lexer_.peek().kind == Token::Kind::end) return out;
    while (true) {
      const Token token = lexer_.peek();
      if (token.kind != Token::Kind::word && token.text != "!")
        return fail(Reason::bad_request,
                    "found '" + shown(token) + "', expected: !, identifier, or 'end of string'");
      auto one = requirement();
      if (!one)
        return fail(Reason::bad_request, "unable to parse requirement: " + one.error().message);
      out.push_back(std::move(*one));
      const Token after = lexer_.next();
      if (after.kind == Token::Kind::end) break;
      if (after.text != ",")
        return fail(Reason::bad_request,
                    "found '" + shown(after) + "', expected: ',' or 'end of string'");
      const Token following = lexer_.peek();
      if (following.kind != Token::Kind::word && following.text != "!")
        return fail(Reason::bad_request,
                    "found '" + shown(following) + "', expected: identifier after ','");
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.key < b.key; });
    return out;
  }

 private:
  static std::string shown(const Token& token) { return std::string(token.text); }

  Result<LabelRequirement> requirement() {
    LabelRequirement out;
    if (lexer_.peek().text == "!") {
      lexer_.next();
      out.op = Operator::does_not_exist;
    }
    const Token key = lexer_.next();
    if (key.kind != Token::Kind::word)
      return fail(Reason::bad_request, "found '" + shown(key) + "', expected: identifier");
    out.key = std::string(key.text);
    const Token after = lexer_.peek();
    if (out.op == Operator::does_not_exist || after.kind == Token::Kind::end || after.text == ",")
      return out;
    return operation(std::move(out));
  }

  Result<LabelRequirement> operation(LabelRequirement out) {
    struct Row {
      std::string_view text;
      Operator op;
      bool many;
    };
    static constexpr Row rows[] = {
        {"=", Operator::in, false},        {"==", Operator::in, false},
        {"!=", Operator::not_in, false},   {"in", Operator::in, true},
        {"notin", Operator::not_in, true}, {">", Operator::greater, false},
        {"<", Operator::less, false},      {"gt", Operator::greater, false},
        {"lt", Operator::less, false}};
    const Token token = lexer_.next();
    const auto* row = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const Row& r) { return r.text == token.text; });
    if (row == std::end(rows))
      return fail(Reason::bad_request,
                  "found '" + shown(token) + "', expected: in, notin, =, ==, !=, gt, lt");
    out.op = row->op;
    if (row->many) {
      TRY(out.values, values());
      return out;
    }
    TRY(std::string value, single_value());
    if ((row->op == Operator::greater || row->op == Operator::less) &&
        !go_integer<std::int64_t>(value))
      return fail(Reason::bad_request,
                  "values[0]: Invalid value: \"" + value +
                      "\": for 'Gt', 'Lt' operators, the value must be an integer");
    out.values.push_back(std::move(value));
    return out;
  }

  Result<std::string> single_value() {
    const Token token = lexer_.peek();
    if (token.kind == Token::Kind::end || token.text == ",") return std::string();
    if (token.kind != Token::Kind::word)
      return fail(Reason::bad_request, "found '" + shown(token) + "', expected: identifier");
    return std::string(lexer_.next().text);
  }

  Result<std::vector<std::string>> values() {
    if (const Token open = lexer_.next(); open.text != "(")
      return fail(Reason::bad_request, "found '" + shown(open) + "' expected: '('");
    std::vector<std::string> out;
    while (true) {
      const Token token = lexer_.peek();
      if (token.kind == Token::Kind::word)
        out.emplace_back(lexer_.next().text);
      else if (token.text == "," || token.text == ")")
        out.emplace_back();
      const Token after = lexer_.next();
      if (after.text == ")") break;
      if (after.text != ",")
        return fail(Reason::bad_request, "found '" + shown(after) + "', expected: ',' or ')'");
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  Lexer lexer_;
};

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

bool LabelRequirement::matches(const StringMap& labels) const {
  const auto found = labels.find(key);
  const bool present = found != labels.end();
  switch (op) {
    case Operator::exists:
      return present;
    case Operator::does_not_exist:
      return !present;
    case Operator::in:
      return present && contains(values, found->second);
    case Operator::not_in:
      return !present || !contains(values, found->second);
    case Operator::greater:
    case Operator::less: {
      if (!present) return false;
      const auto left = go_integer<std::int64_t>(found->second);
      const auto right = go_integer<std::int64_t>(values.front());
      if (!left || !right) return false;
      return op == Operator::greater ? *left > *right : *left < *right;
    }
  }
  return false;
}

Result<LabelMatcher> LabelMatcher::parse(std::string_view text) {
  LabelMatcher out;
  TRY(out.requirements_, LabelParser(text).parse());
  return out;
}

Result<LabelMatcher> LabelMatcher::from(const LabelSelector& selector) {
  static constexpr std::pair<std::string_view, Operator> operators[] = {
      {"In", Operator::in},
      {"NotIn", Operator::not_in},
      {"Exists", Operator::exists},
      {"DoesNotExist", Operator::does_not_exist}};
  LabelMatcher out = from(selector.matchLabels);
  for (const LabelSelectorRequirement& term : selector.matchExpressions) {
    const auto* row = std::find_if(std::begin(operators), std::end(operators),
                                   [&](const auto& r) { return r.first == term.operator_; });
    if (row == std::end(operators))
      return fail(Reason::invalid,
                  "\"" + term.operator_ + "\" is not a valid label selector operator");
    LabelRequirement one{term.key, row->second, term.values};
    std::sort(one.values.begin(), one.values.end());
    out.requirements_.push_back(std::move(one));
  }
  std::stable_sort(out.requirements_.begin(), out.requirements_.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

LabelMatcher LabelMatcher::from(const StringMap& labels) {
  LabelMatcher out;
  for (const auto& [key, value] : labels)
    out.requirements_.push_back({key.str(), Operator::in, {value.str()}});
  return out;
}

bool LabelMatcher::matches(const StringMap& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const LabelRequirement& r) { return r.matches(labels); });
}

std::string LabelMatcher::text() const {
  const auto list = [](const std::vector<std::string>& values) {
    std::string out = "(";
    for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? "," : "") + values[i];
    return out + ")";
  };
  std::string out;
  for (const LabelRequirement& r : requirements_) {
    if (!out.empty()) out += ",";
    switch (r.op) {
      case Operator::exists:
        out += r.key;
        break;
      case Operator::does_not_exist:
        out += "!" + r.key;
        break;
      case Operator::in:
        out +=
            r.values.size() == 1 ? r.key + "=" + r.values.front() : r.key + " in " + list(r.values);
        break;
      case Operator::not_in:
        out += r.values.size() == 1 ? r.key + "!=" + r.values.front()
                                    : r.key + " notin " + list(r.values);
        break;
      case Operator::greater:
        out += r.key + ">" + r.values.front();
        break;
      case Operator::less:
        out += r.key + "<" + r.values.front();
        break;
    }
  }
  return out;
}

namespace {

// Splits at commas that no backslash protects.
std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> out(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      out.back() += text[i];
      out.back() += text[++i];
    } else if (text[i] == ',') {
      out.emplace_back();
    } else {
      out.back() += text[i];
    }
  }
  std::erase(out, std::string());
  return out;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

}  // namespace

Result<FieldMatcher> FieldMatcher::parse(std::string_view text) {
  FieldMatcher out;
  for (const std::string& term : terms_of(text)) {
    const std::size_t at = term.find_first_of("!=");
    const std::string_view rest =
        at == std::string::npos ? std::string_view() : std::string_view(term).substr(at);
    const std::string_view op = rest.starts_with("!=")   ? "!="
                                : rest.starts_with("==") ? "=="
                                : rest.starts_with("=")  ? "="
                                                         : "";
    if (op.empty())
      return fail(Reason::bad_request,
                  "invalid selector: '" + std::string(text) + "'; can't understand '" + term + "'");
    out.requirements_.push_back({term.substr(0, at), unescape(rest.substr(op.size())), op == "!="});
  }
  return out;
}

bool FieldMatcher::matches(const std::function<std::string(std::string_view)>& value) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const FieldRequirement& r) {
    return (value(r.field) == r.value) != r.negated;
  });
}

}  // namespace ddptwin
