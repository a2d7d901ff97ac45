#include "cluster/model_runtime/shell/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/numbers.hpp"

namespace ddptwin::model::shell {
namespace {

Error wrong(std::string message) {
  return Error{Reason::invalid, "", std::move(message), nullptr, 1, {}};
}
Error missing_value(std::string message) {
  constexpr int code = 127;
  return Error{Reason::invalid, "", std::move(message), nullptr, code, {}};
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// ---- arithmetic --------------------------------------------------------------------------------

using Number = std::int64_t;

// Decimal, 0 octal, 0x hexadecimal, as in C.
std::optional<Number> number_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  const auto value = whole_number_in(base, text);
  return value && negative ? -*value : value;
}

// Wraps round, as the shells do.
Number add(Number a, Number b) {
  return static_cast<Number>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Number subtract(Number a, Number b) {
  return static_cast<Number>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
Number multiply(Number a, Number b) {
  return static_cast<Number>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

struct Operator {
  std::string_view text;
  int level;  // the higher binds closer
  Number (*apply)(Number, Number);
};
constexpr std::array operators{
    Operator{"||", 0, [](Number a, Number b) -> Number { return a != 0 || b != 0; }},
    Operator{"&&", 1, [](Number a, Number b) -> Number { return a != 0 && b != 0; }},
    Operator{"==", 2, [](Number a, Number b) -> Number { return a == b; }},
    Operator{"!=", 2, [](Number a, Number b) -> Number { return a != b; }},
    Operator{"<=", 3, [](Number a, Number b) -> Number { return a <= b; }},
    Operator{">=", 3, [](Number a, Number b) -> Number { return a >= b; }},
    Operator{"<", 3, [](Number a, Number b) -> Number { return a < b; }},
    Operator{">", 3, [](Number a, Number b) -> Number { return a > b; }},
    Operator{"+", 4, &add},
    Operator{"-", 4, &subtract},
    Operator{"*", 5, &multiply},
    Operator{"/", 5, nullptr},
    Operator{"%", 5, nullptr},
};
constexpr int levels = 6;

class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Variables& variables)
      : whole_(text), text_(text), variables_(variables) {}

  Result<Number> run() {
    TRY(const Number value, binary(0));
    skip_blanks();
    if (!text_.empty()) return fail(syntax());
    return value;
  }

 private:
  Error syntax() const {
    return wrong(fmt::format("arithmetic expression: syntax error: \"{}\"", whole_));
  }

  void skip_blanks() {
    while (!text_.empty() && is_blank(text_.front())) text_.remove_prefix(1);
  }

  const Operator* operator_of(int level) {
    skip_blanks();
    const auto found = std::find_if(operators.begin(), operators.end(), [&](const Operator& one) {
      return text_.starts_with(one.text);
    });
    if (found == operators.end() || found->level != level) return nullptr;
    return &*found;
  }

  Result<Number> binary(int level) {
    if (level == levels) return unary();
    TRY(Number left, binary(level + 1));
    while (const Operator* found = operator_of(level)) {
      text_.remove_prefix(found->text.size());
      TRY(const Number right, binary(level + 1));
      if (found->apply != nullptr) {
        left = found->apply(left, right);
      } else if (right == 0) {
        return fail(wrong(fmt::format("arithmetic expression: division by zero: \"{}\"", whole_)));
      } else if (right == -1) {
        left = found->text == "/" ? subtract(0, left) : 0;
      } else {
        left = found->text == "/" ? left / right : left % right;
      }
    }
    return left;
  }

  Result<Number> unary() {
    skip_blanks();
    if (text_.empty()) return fail(syntax());
    const char c = text_.front();
    if (c == '-' || c == '+' || c == '!') {
      text_.remove_prefix(1);
      TRY(const Number value, unary());
      return c == '-' ? subtract(0, value) : c == '+' ? value : Number{value == 0};
    }
    if (c == '(') {
      text_.remove_prefix(1);
      TRY(const Number value, binary(0));
      skip_blanks();
      if (!text_.starts_with(')')) return fail(syntax());
      text_.remove_prefix(1);
      return value;
    }
    return operand();
  }

  // A number or NAME; what is not set counts as 0.
  Result<Number> operand() {
    const auto end = std::find_if_not(text_.begin(), text_.end(), is_name);
    const std::string_view word = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(word.size());
    if (word.empty()) return fail(syntax());
    std::string value(word);
    if (word.front() < '0' || word.front() > '9') {
      value = variables_.value(word).value_or("");
      if (value.empty()) value = "0";
    }
    const auto number = number_of(value);
    if (!number) return fail(wrong(fmt::format("Illegal number: {}", value)));
    return *number;
  }

  std::string_view whole_, text_;
  const Variables& variables_;
};

// ---- ${NAME...} --------------------------------------------------------------------------------

// Of [abc], [a-z] and [!a-z] at the pattern's beginning: how long it is, and whether it has that
// character. Nothing: it is not closed, and stands for itself.
struct Bracket {
  std::size_t size;
  bool has;
};
std::optional<Bracket> bracket(std::string_view pattern, char c) {
  std::size_t at = 1;
  const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (negated) ++at;
  bool has = false;
  for (const std::size_t first = at; at < pattern.size(); ++at) {
    if (pattern[at] == ']' && at > first) return Bracket{at + 1, has != negated};
    const bool range = at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    const char last = range ? pattern[at + 2] : pattern[at];
    has = has || (pattern[at] <= c && c <= last);
    if (range) at += 2;
  }
  return std::nullopt;
}

// # and ## take a beginning off, % and %% an end: the shortest or the longest that fits.
std::string without(const std::string& value, std::string_view pattern,
                    std::string_view operation) {
  const bool longest = operation.size() == 2, front = operation.front() == '#';
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const std::size_t size = longest ? value.size() - i : i;
    const std::size_t begin = front ? 0 : value.size() - size;
    if (!matches(pattern, std::string_view(value).substr(begin, size))) continue;
    return front ? value.substr(size) : value.substr(0, begin);
  }
  return value;
}

class Expansion {
 public:
  explicit Expansion(Variables& variables) : variables_(variables) {}

  // The text of all pieces together; for a pattern, quoted text is taken literally.
  Result<std::string> text_of(const std::vector<Piece>& pieces, bool pattern = false) {
    std::string text;
    for (const Piece& piece : pieces) {
      TRY(const std::string value, value_of(piece));
      for (const char c : value) {
        if (pattern && piece.quoted && (c == '*' || c == '?' || c == '[' || c == '\\'))
          text += '\\';
        text += c;
      }
    }
    return text;
  }

  Status word(const Word& word) {
    // "$@" without arguments is no word at all.
    if (word.pieces.size() == 2 && is_all_arguments(word.pieces[1]) && word.pieces[0].quoted &&
        word.pieces[0].text.empty() && variables_.arguments().empty())
      return {};
    text_.clear();
    any_ = false;
    for (const Piece& piece : word.pieces) TRY_VOID(add(piece));
    end_word();
    return {};
  }

  std::vector<std::string> take() { return std::move(all_); }

 private:
  static bool is_all_arguments(const Piece& piece) {
    return piece.kind == Piece::Kind::variable && piece.text == "@" && piece.quoted &&
           piece.operation.empty();
  }

  // Of ${NAME-word} and ${NAME+word}: whether the word stands for it.
  bool takes_word(const Piece& piece) const {
    if (piece.kind != Piece::Kind::variable || piece.operation.empty()) return false;
    const char what = piece.operation.back();
    return (what == '-' && is_missing(piece)) || (what == '+' && !is_missing(piece));
  }

  // With : before its operation what is empty is missing too.
  bool is_missing(const Piece& piece) const {
    const std::optional<std::string> value = plain(piece.text);
    return !value || (piece.operation.starts_with(':') && value->empty());
  }

  void end_word() {
    if (any_) all_.push_back(std::exchange(text_, {}));
    any_ = false;
  }

  // `within`: it stands in an unquoted ${ }, so its own text is split too.
  Status add(const Piece& piece, bool within = false) {
    if (!piece.quoted && takes_word(piece)) {
      for (const Piece& part : piece.word) TRY_VOID(add(part, true));
      return {};
    }
    if (is_all_arguments(piece)) {
      const std::vector<std::string>& arguments = variables_.arguments();
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (i > 0) end_word();
        text_ += arguments[i];
        any_ = true;
      }
      return {};
    }
    TRY(const std::string value, value_of(piece));
    if (piece.quoted || (piece.kind == Piece::Kind::literal && !within)) {
      text_ += value;
      any_ = any_ || piece.quoted || !value.empty();
      return {};
    }
    for (const char c : value) {
      if (is_blank(c)) {
        end_word();
      } else {
        text_ += c;
        any_ = true;
      }
    }
    return {};
  }

  Result<std::string> value_of(const Piece& piece) {
    switch (piece.kind) {
      case Piece::Kind::literal:
        return piece.text;
      case Piece::Kind::arithmetic: {
        TRY(const std::string expression, text_of(piece.word));
        constexpr std::size_t size_max = 1000;
        if (expression.size() > size_max) return fail(wrong("arithmetic expression: too long"));
        TRY(const Number value, Arithmetic(expression, variables_).run());
        return std::to_string(value);
      }
      case Piece::Kind::output:
        return variables_.output_of(piece);
      case Piece::Kind::variable:
        break;
    }
    return variable(piece);
  }

  bool is_bash() const { return variables_.dialect() == Dialect::bash; }

  std::optional<std::string> plain(const std::string& name) const {
    if (name == "@" || name == "*")
      return fmt::format("{}", fmt::join(variables_.arguments(), " "));
    if (name == "#") return std::to_string(variables_.arguments().size());
    return variables_.value(name);
  }

  Result<std::string> variable(const Piece& piece) {
    const std::optional<std::string> value = plain(piece.text);
    std::string_view operation = piece.operation;
    const bool missing = is_missing(piece);
    if (operation.starts_with(':')) operation.remove_prefix(1);
    if (takes_word(piece)) return text_of(piece.word);
    if (operation == "-" || operation == "+") return missing ? std::string() : *value;
    if (operation == "=" && missing) {
      TRY(std::string text, text_of(piece.word));
      variables_.set(piece.text, text);
      return text;
    }
    if (operation == "?" && missing) {
      TRY(const std::string text, text_of(piece.word));
      const std::string_view of_none =
          is_bash() ? "parameter null or not set" : "parameter not set or null";
      return fail(missing_value(fmt::format("{}: {}", piece.text, text.empty() ? of_none : text)));
    }
    if (!value && variables_.unset_is_an_error())
      return fail(missing_value(
          fmt::format("{}: {}", piece.text, is_bash() ? "unbound variable" : "parameter not set")));
    const std::string text = value.value_or("");
    if (operation == "length") return std::to_string(text.size());
    if (!operation.starts_with('#') && !operation.starts_with('%')) return text;
    TRY(const std::string pattern, text_of(piece.word, true));
    return without(text, pattern, operation);
  }

  Variables& variables_;
  std::vector<std::string> all_{};
  std::string text_{};
  bool any_ = false;
};

}  // namespace

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::optional<std::string> Word::literal() const {
  std::string text;
  for (const Piece& piece : pieces) {
    if (piece.kind != Piece::Kind::literal) return std::nullopt;
    text += piece.text;
  }
  return text;
}

std::string_view operation_at(std::string_view text) {
  constexpr std::array<std::string_view, 12> known{":-", ":+", ":=", ":?", "##", "%%",
                                                   "-",  "+",  "=",  "?",  "#",  "%"};
  for (const std::string_view one : known)
    if (text.starts_with(one)) return one;
  return {};
}

Result<std::vector<std::string>> expand(const std::vector<Word>& words, Variables& variables) {
  Expansion expansion(variables);
  for (const Word& word : words) TRY_VOID(expansion.word(word));
  return expansion.take();
}

Result<std::string> expand_value(const Word& word, Variables& variables) {
  return Expansion(variables).text_of(word.pieces);
}

Result<std::string> expand_pattern(const Word& word, Variables& variables) {
  return Expansion(variables).text_of(word.pieces, true);
}

bool matches(std::string_view pattern, std::string_view text) {
  // Where to go on when what stands behind the last * does not fit: one character later.
  std::optional<std::string_view> behind_star;
  std::string_view from;
  for (;;) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      behind_star = pattern;
      from = text;
      continue;
    }
    if (pattern.empty() && text.empty()) return true;
    std::size_t taken = 0;  // of the pattern, by the next character
    if (!pattern.empty() && !text.empty()) {
      const auto found = pattern.front() == '[' ? bracket(pattern, text.front()) : std::nullopt;
      const bool escaped = pattern.front() == '\\' && pattern.size() > 1;
      if (found)
        taken = found->has ? found->size : 0;
      else if (pattern.front() == '?')
        taken = 1;
      else if (pattern[escaped ? 1 : 0] == text.front())
        taken = escaped ? 2 : 1;
    }
    if (taken > 0) {
      pattern.remove_prefix(taken);
      text.remove_prefix(1);
    } else if (behind_star && !from.empty()) {
      from.remove_prefix(1);
      pattern = *behind_star;
      text = from;
    } else {
      return false;
    }
  }
}

void outputs_in(const std::vector<Piece>& pieces, const Variables* variables,
                std::vector<const Piece*>& all) {
  for (const Piece& piece : pieces) {
    if (piece.kind == Piece::Kind::output) all.push_back(&piece);
    std::string_view operation = piece.operation;
    if (variables != nullptr && piece.kind == Piece::Kind::variable && !operation.empty()) {
      const auto value = variables->value(piece.text);
      const bool missing = !value || (operation.starts_with(':') && value->empty());
      if (operation.starts_with(':')) operation.remove_prefix(1);
      const bool if_missing = operation == "-" || operation == "=" || operation == "?";
      if ((if_missing && !missing) || (operation == "+" && missing)) continue;
    }
    outputs_in(piece.word, variables, all);
  }
}

}  // namespace ddptwin::model::shell
