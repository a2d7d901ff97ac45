#include "runtime/model/shell/arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/numbers.hpp"

namespace ddptwin::model::shell {
namespace {

using Number = std::int64_t;

constexpr std::size_t size_max = 1000;  // of an expression: it is read by calls within calls
constexpr int unset_code = 127;         // of what is not set, where that is an error

Error arithmetic_error(std::string_view message) {
  return Error{Reason::invalid, "", fmt::format("arithmetic expression: {}", message),
               nullptr,         1,  {}};
}

// Decimal, 0 octal, 0x hexadecimal, as in C; blanks around it do not matter.
std::optional<Number> number_of(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
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

// As the processor shifts: by what fits into a number.
Number shift_left(Number a, Number b) {
  return static_cast<Number>(static_cast<std::uint64_t>(a) << (static_cast<std::uint64_t>(b) % 64));
}
Number shift_right(Number a, Number b) { return a >> (static_cast<std::uint64_t>(b) % 64); }

struct Operator {
  std::string_view text;
  int level;                        // the higher binds closer
  Number (*apply)(Number, Number);  // null: a division
  bool assigns = false;             // with = behind it
};
// Those with more letters first.
constexpr std::array operators{
    Operator{"||", 0, [](Number a, Number b) -> Number { return a != 0 || b != 0; }},
    Operator{"&&", 1, [](Number a, Number b) -> Number { return a != 0 && b != 0; }},
    Operator{"==", 5, [](Number a, Number b) -> Number { return a == b; }},
    Operator{"!=", 5, [](Number a, Number b) -> Number { return a != b; }},
    Operator{"<=", 6, [](Number a, Number b) -> Number { return a <= b; }},
    Operator{">=", 6, [](Number a, Number b) -> Number { return a >= b; }},
    Operator{"<<", 7, &shift_left, true},
    Operator{">>", 7, &shift_right, true},
    Operator{"<", 6, [](Number a, Number b) -> Number { return a < b; }},
    Operator{">", 6, [](Number a, Number b) -> Number { return a > b; }},
    Operator{"|", 2, [](Number a, Number b) -> Number { return a | b; }, true},
    Operator{"^", 3, [](Number a, Number b) -> Number { return a ^ b; }, true},
    Operator{"&", 4, [](Number a, Number b) -> Number { return a & b; }, true},
    Operator{"+", 8, &add, true},
    Operator{"-", 8, &subtract, true},
    Operator{"*", 9, &multiply, true},
    Operator{"**", 10, nullptr},  // Arithmetic::power()
    Operator{"/", 9, nullptr, true},
    Operator{"%", 9, nullptr, true},
};
constexpr int levels = 10;

class Arithmetic {
 public:
  Arithmetic(std::string_view text, Variables& variables, int depth)
      : whole_(text), text_(text), variables_(variables), depth_(depth) {}

  Result<Number> run() {
    skip_blanks();
    // bash takes nothing for 0, dash says what it misses.
    if (text_.empty() && variables_.dialect() == Dialect::bash) return 0;
    TRY(const Number value, all());
    if (!text_.empty()) return fail(syntax());
    return value;
  }

 private:
  Error syntax() const { return arithmetic_error(fmt::format("syntax error: \"{}\"", whole_)); }

  void skip_blanks() {
    while (!text_.empty() && is_blank(text_.front())) text_.remove_prefix(1);
  }

  std::string_view take_name() {
    if (text_.empty() || is_digit(text_.front())) return {};
    const auto end = std::find_if_not(text_.begin(), text_.end(), is_name);
    const std::string_view name = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(name.size());
    return name;
  }

  // At the text's beginning.
  const Operator* next_operator() const {
    const auto found =
        std::find_if(operators.begin(), operators.end(),
                     [this](const Operator& one) { return text_.starts_with(one.text); });
    return found == operators.end() ? nullptr : &*found;
  }

  const Operator* operator_of(int level) {
    skip_blanks();
    const Operator* found = next_operator();
    return found != nullptr && found->level == level ? found : nullptr;
  }

  // bash's comma: the last counts.
  Result<Number> all() {
    TRY(Number value, assignment());
    for (skip_blanks(); is_bash() && text_.starts_with(','); skip_blanks()) {
      text_.remove_prefix(1);
      TRY(value, assignment());
    }
    return value;
  }

  bool is_bash() const { return variables_.dialect() == Dialect::bash; }

  // A variable, or bash's element of an array.
  struct Place {
    std::string name;
    std::optional<Number> index{};
  };
  Result<Place> take_place() {
    Place place{std::string(take_name())};
    if (place.name.empty() || !is_bash() || !text_.starts_with('[')) return place;
    text_.remove_prefix(1);
    TRY(place.index, all());
    if (!text_.starts_with(']')) return fail(syntax());
    text_.remove_prefix(1);
    return place;
  }

  // Without a look at what is in its [ ]. False: there is none.
  bool skip_place() {
    if (take_name().empty()) return false;
    if (!is_bash() || !text_.starts_with('[')) return true;
    int open = 0;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      open += text_[at] == '[' ? 1 : text_[at] == ']' ? -1 : 0;
      if (open > 0) continue;
      text_.remove_prefix(at + 1);
      return true;
    }
    return false;
  }

  // NAME = ..., NAME += ... and their kin, of the right first.
  Result<Number> assignment() {
    skip_blanks();
    const std::string_view before = text_;
    const bool named = skip_place();
    skip_blanks();
    const Operator* with = next_operator();
    if (with != nullptr && !with->assigns) with = nullptr;
    const std::string_view behind = text_.substr(with == nullptr ? 0 : with->text.size());
    if (!named || !behind.starts_with('=') || behind.starts_with("==")) {
      text_ = before;
      return choice();
    }
    text_ = before;
    TRY(const Place place, take_place());
    text_ = behind.substr(1);
    TRY(Number value, assignment());
    if (with != nullptr) {
      TRY(const Number old, value_of(place));
      TRY(value, applied(*with, old, value));
    }
    TRY_VOID(set(place, value));
    return value;
  }

  // CONDITION ? THIS : THAT, of which one is worked out.
  Result<Number> choice() {
    TRY(const Number condition, binary(0));
    skip_blanks();
    if (!text_.starts_with('?')) return condition;
    text_.remove_prefix(1);
    skipped_ += condition == 0 ? 1 : 0;
    TRY(const Number first, assignment());
    skipped_ -= condition == 0 ? 1 : 0;
    skip_blanks();
    if (!text_.starts_with(':')) return fail(syntax());
    text_.remove_prefix(1);
    skipped_ += condition != 0 ? 1 : 0;
    TRY(const Number second, assignment());
    skipped_ -= condition != 0 ? 1 : 0;
    return condition != 0 ? first : second;
  }

  Status set(const Place& place, Number value) {
    if (skipped_ > 0) return {};
    if (place.index) return variables_.set_element(place.name, *place.index, std::to_string(value));
    variables_.set(place.name, std::to_string(value));
    return {};
  }

  Result<Number> applied(const Operator& by, Number left, Number right) const {
    if (by.apply != nullptr) return by.apply(left, right);
    if (right == 0 && skipped_ > 0) return 0;
    if (right == 0) return fail(arithmetic_error(fmt::format("division by zero: \"{}\"", whole_)));
    if (right == -1) return by.text == "/" ? subtract(0, left) : 0;
    return by.text == "/" ? left / right : left % right;
  }

  Result<Number> binary(int level) {
    if (level == levels) return power();
    TRY(Number left, binary(level + 1));
    while (const Operator* found = operator_of(level)) {
      text_.remove_prefix(found->text.size());
      // What is decided already is read, and nothing in it done.
      const bool decided = (found->text == "&&" && left == 0) || (found->text == "||" && left != 0);
      skipped_ += decided ? 1 : 0;
      TRY(const Number right, binary(level + 1));
      skipped_ -= decided ? 1 : 0;
      TRY(left, applied(*found, left, right));
    }
    return left;
  }

  // bash's **, of the right first.
  Result<Number> power() {
    TRY(const Number base, unary());
    skip_blanks();
    if (!is_bash() || !text_.starts_with("**")) return base;
    text_.remove_prefix(2);
    TRY(const Number exponent, power());
    if (exponent < 0 && skipped_ > 0) return 0;
    if (exponent < 0) return fail(arithmetic_error("exponent less than 0"));
    Number value = 1, factor = base;
    for (Number left = exponent; left > 0; left /= 2) {
      if (left % 2 == 1) value = multiply(value, factor);
      factor = multiply(factor, factor);
    }
    return value;
  }

  Result<Number> unary() {
    skip_blanks();
    if (text_.empty()) return fail(syntax());
    const char c = text_.front();
    if (variables_.dialect() == Dialect::bash && counts()) {
      text_.remove_prefix(2);
      skip_blanks();
      TRY(const Place place, take_place());
      return counted(place, c, true);
    }
    if (c == '-' || c == '+' || c == '!' || c == '~') {
      text_.remove_prefix(1);
      TRY(const Number value, unary());
      if (c == '~') return ~value;
      return c == '-' ? subtract(0, value) : c == '+' ? value : Number{value == 0};
    }
    if (c == '(') {
      text_.remove_prefix(1);
      TRY(const Number value, all());
      skip_blanks();
      if (!text_.starts_with(')')) return fail(syntax());
      text_.remove_prefix(1);
      return value;
    }
    return operand();
  }

  bool counts() const { return text_.starts_with("++") || text_.starts_with("--"); }

  // bash's ++ and --.
  Result<Number> counted(const Place& place, char by, bool before) {
    if (place.name.empty()) return fail(syntax());
    TRY(const Number old, value_of(place));
    const Number now = by == '+' ? add(old, 1) : subtract(old, 1);
    TRY_VOID(set(place, now));
    return before ? now : old;
  }

  // A number or NAME.
  Result<Number> operand() {
    TRY(const Place place, take_place());
    if (!place.name.empty()) {
      skip_blanks();
      if (!is_bash() || !counts()) return value_of(place);
      const char by = text_.front();
      text_.remove_prefix(2);
      return counted(place, by, false);
    }
    const auto end = std::find_if_not(text_.begin(), text_.end(), is_name);
    const std::string number(text_.begin(), end);
    text_.remove_prefix(number.size());
    if (number.empty()) return fail(syntax());
    if (variables_.dialect() == Dialect::bash && text_.starts_with('#')) return based(number);
    return known_number(number);
  }

  // bash's 10#008: digits of that base.
  Result<Number> based(const std::string& base) {
    text_.remove_prefix(1);
    const auto end = std::find_if_not(text_.begin(), text_.end(), is_name);
    const std::string digits(text_.begin(), end);
    text_.remove_prefix(digits.size());
    const auto as_number = number_of(base);
    constexpr Number base_max = 36;  // more have small and large letters
    const auto value = as_number && *as_number >= 2 && *as_number <= base_max
                           ? whole_number_in(static_cast<int>(*as_number), digits)
                           : std::nullopt;
    if (!value) return fail(arithmetic_error(fmt::format("invalid number: {}#{}", base, digits)));
    return *value;
  }

  // What is not set counts as 0, and to bash a value is an expression.
  Result<Number> value_of(const Place& place) const {
    const std::string& name = place.name;
    std::optional<std::string> value;
    if (place.index) {
      const auto elements = variables_.elements(name).value_or(std::vector<std::string>());
      const auto size = static_cast<Number>(elements.size());
      const Number at = *place.index < 0 ? *place.index + size : *place.index;
      if (at >= 0 && at < size) value = elements[static_cast<std::size_t>(at)];
    } else {
      value = variables_.value(name);
    }
    const bool is_bash = variables_.dialect() == Dialect::bash;
    if (!value && variables_.unset_is_an_error() && skipped_ == 0)
      return fail(Error{Reason::invalid,
                        "",
                        name + (is_bash ? ": unbound variable" : ": parameter not set"),
                        nullptr,
                        unset_code,
                        {}});
    if (!value || value->empty()) return Number{0};
    if (const auto number = number_of(*value)) return *number;
    constexpr int depth_max = 20;
    if (!is_bash || value->size() > size_max) return known_number(*value);
    if (depth_ == depth_max) return fail(arithmetic_error("expression recursion level exceeded"));
    return Arithmetic(*value, variables_, depth_ + 1).run();
  }

  static Result<Number> known_number(const std::string& text) {
    const auto number = number_of(text);
    if (!number) return fail(Error{Reason::invalid, "", "Illegal number: " + text, nullptr, 1, {}});
    return *number;
  }

  std::string_view whole_, text_;
  Variables& variables_;
  int depth_;        // of values that are expressions
  int skipped_ = 0;  // parts within each other whose value nobody asks for
};

// ++ and -- beside a variable's name, as bash has them: elsewhere shells differ in what they see.
bool are_beside_names(std::string_view expression) {
  for (const std::string_view twice : {"++", "--"}) {
    for (std::size_t at = expression.find(twice); at != expression.npos;
         at = expression.find(twice, at + 2)) {
      const bool element = at > 0 && expression[at - 1] == ']';
      const bool before = element || (at > 0 && is_name(expression[at - 1]));
      const bool after = at + 2 < expression.size() && is_name(expression[at + 2]);
      std::size_t first = before ? at - 1 : at + 2;
      while (before && !element && first > 0 && is_name(expression[first - 1])) --first;
      const char next = at + 2 < expression.size() ? expression[at + 2] : ' ';
      if (before == after || is_digit(expression[first]) || next == '+' || next == '-')
        return false;
    }
  }
  return true;
}

}  // namespace

bool is_known_arithmetic(std::string_view expression, Dialect dialect) {
  constexpr std::size_t written_max = 200;
  const auto has = [expression](std::string_view text) {
    return expression.find(text) != expression.npos;
  };
  const bool plain = std::all_of(expression.begin(), expression.end(), [](char c) {
    return is_name(c) ||
           std::string_view(" \t\n()+-*/%<>=!&|^~?:#,[]").find(c) != std::string_view::npos;
  });
  if (!plain || expression.size() > written_max) return false;
  const bool of_bash = has("#") || has("**") || has(",") || has("[");
  if (dialect == Dialect::dash && of_bash) return false;
  return dialect == Dialect::bash ? are_beside_names(expression) : !has("++") && !has("--");
}

Result<std::int64_t> arithmetic(std::string_view expression, Variables& variables) {
  if (expression.size() > size_max) return fail(arithmetic_error("too long"));
  return Arithmetic(expression, variables, 0).run();
}

}  // namespace ddptwin::model::shell
