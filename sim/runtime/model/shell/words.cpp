#include "runtime/model/shell/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "runtime/model/shell/arithmetic.hpp"

namespace ddptwin::model::shell {
namespace {

Error wrong(std::string message) {
  return Error{Reason::invalid, "", std::move(message), nullptr, 1, {}};
}
Error missing_value(std::string message) {
  constexpr int code = 127;
  return Error{Reason::invalid, "", std::move(message), nullptr, code, {}};
}

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

// How many characters a pattern stands for; nothing: with * that depends.
std::optional<std::size_t> size_of(std::string_view pattern) {
  std::size_t size = 0;
  while (!pattern.empty()) {
    if (pattern.front() == '*') return std::nullopt;
    const auto set = pattern.front() == '[' ? bracket(pattern, 'a') : std::nullopt;
    const bool escaped = pattern.front() == '\\' && pattern.size() > 1;
    pattern.remove_prefix(set ? set->size : escaped ? 2 : 1);
    ++size;
  }
  return size;
}

// ${NAME/pattern/text}: the longest of the first that fits; // all of them, /# only at the
// beginning, /% only at the end. Nothing is found at these two ends alone.
std::string replaced(const std::string& value, std::string_view pattern, const std::string& text,
                     std::string_view operation) {
  constexpr std::size_t size_max = std::size_t{1} << 20U;  // of a variable, too
  const bool at_front = operation == "/#", at_end = operation == "/%";
  const bool of_nothing = at_front || at_end || (value.empty() && !pattern.empty());
  const std::size_t least = of_nothing ? 0 : 1;
  const std::optional<std::size_t> only = size_of(pattern);
  const auto longest_at = [&](std::size_t begin) -> std::optional<std::size_t> {
    const std::string_view rest = std::string_view(value).substr(begin);
    if (only && (*only > rest.size() || *only < least)) return std::nullopt;
    for (std::size_t size = only.value_or(rest.size()) + 1; size-- > least;) {
      if (at_end && size < rest.size()) break;
      if (matches(pattern, rest.substr(0, size))) return size;
      if (only) break;
    }
    return std::nullopt;
  };
  std::string out;
  std::size_t begin = 0;
  while ((begin < value.size() || of_nothing) && out.size() < size_max) {
    if (const auto size = longest_at(begin)) {
      out += text;
      begin += *size;
      if (operation != "//") break;
    } else {
      if (at_front || begin >= value.size()) break;
      out += value[begin++];
    }
  }
  return out + value.substr(begin);
}

// ${NAME^^}, ${NAME^}, ${NAME,,} and ${NAME,}: one letter is the first.
std::string in_other_letters(std::string value, std::string_view operation) {
  const std::size_t size =
      operation.size() == 2 ? value.size() : std::min<std::size_t>(1, value.size());
  for (char& c : std::span(value).first(size)) {
    const int letter = static_cast<unsigned char>(c);
    c = static_cast<char>(operation.front() == '^' ? std::toupper(letter) : std::tolower(letter));
  }
  return value;
}

constexpr std::string_view pattern_marks = "*?[\\";

class Expansion {
 public:
  explicit Expansion(Variables& variables)
      : variables_(variables), separators_(variables.value("IFS").value_or(" \t\n")) {}

  // The text of all pieces together. `special`: what means something in a pattern, where quoted
  // text is taken literally.
  Result<std::string> text_of(const std::vector<Piece>& pieces, std::string_view special = {}) {
    std::string text;
    for (const Piece& piece : pieces) {
      TRY(const std::string value, value_of(piece));
      for (const char c : value) {
        if (piece.quoted && special.find(c) != special.npos) text += '\\';
        text += c;
      }
    }
    return text;
  }

  Status word(const Word& word) {
    text_.clear();
    any_ = behind_blanks_ = false;
    // "$@" without arguments is no word at all.
    const bool alone = word.pieces.size() == 2 && is_list(word.pieces[1]) &&
                       word.pieces[0].quoted && word.pieces[0].text.empty();
    for (std::size_t i = alone ? 1 : 0; i < word.pieces.size(); ++i) TRY_VOID(add(word.pieces[i]));
    end_word();
    return {};
  }

  std::vector<std::string> take() { return std::move(all_); }

 private:
  static bool has_many(const Piece& piece) {
    return piece.text == "@" || piece.text == "*" || piece.elements != Piece::Elements::one;
  }

  // "$@" and "${NAME[@]}": each is a word.
  static bool is_list(const Piece& piece) {
    return piece.kind == Piece::Kind::variable && piece.quoted && piece.operation != "length" &&
           (piece.text == "@" || piece.elements == Piece::Elements::each);
  }

  // What a parameter is worth without its operation, asked for once: an index may count.
  struct Found {
    std::optional<std::string> value{};
    bool missing = false;    // with : before its operation what is empty is missing too
    bool otherwise = false;  // of ${NAME-word} and ${NAME+word}: the word stands for it
  };
  Result<Found> look_up(const Piece& piece) {
    Found found;
    TRY(found.value, plain(piece));
    const std::string_view operation = piece.operation;
    found.missing = !found.value || (operation.starts_with(':') && found.value->empty());
    found.otherwise =
        (operation.ends_with('-') && found.missing) || (operation.ends_with('+') && !found.missing);
    return found;
  }

  void end_word() {
    if (any_) all_.push_back(std::exchange(text_, {}));
    any_ = false;
  }

  // `within`: it stands in an unquoted ${ }, so its own text is split too.
  Status add(const Piece& piece, bool within = false) {
    if (piece.kind == Piece::Kind::variable) {
      TRY(const Found found, look_up(piece));
      return add_variable(piece, found);
    }
    TRY(const std::string value, value_of(piece));
    return add_text(value, piece.quoted || (piece.kind == Piece::Kind::literal && !within),
                    piece.quoted);
  }

  Status add_variable(const Piece& piece, const Found& found) {
    if (!piece.quoted && found.otherwise) {
      for (const Piece& part : piece.word) TRY_VOID(add(part, true));
      return {};
    }
    const bool split =
        !piece.quoted && has_many(piece) && piece.operation != "length" && !asks_for_value(piece);
    if ((is_list(piece) || split) && !found.otherwise) {
      TRY(const std::vector<std::string> all, list_of(piece));
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0 && split && separates_by_mark()) {
          TRY_VOID(add_text(separators_.substr(0, 1), false, false));
        } else if (i > 0) {
          end_word();
        }
        TRY_VOID(add_text(all[i], piece.quoted, piece.quoted));
      }
      return {};
    }
    TRY(const std::string value, variable(piece, found));
    return add_text(value, piece.quoted, piece.quoted);
  }

  // `whole`: it is not split. `counts`: it is a word even where it is empty.
  Status add_text(const std::string& value, bool whole, bool counts) {
    if (whole) {
      text_ += value;
      any_ = any_ || counts || !value.empty();
      if (any_) behind_blanks_ = false;
      return {};
    }
    for (const char c : value) {
      if (separators_.find(c) == separators_.npos) {
        text_ += c;
        any_ = true;
        behind_blanks_ = false;
      } else if (is_blank(c)) {
        behind_blanks_ = behind_blanks_ || any_;
        end_word();
      } else {
        // One that is no blank ends a word even where there is none, but not twice.
        if (!any_ && !behind_blanks_) all_.emplace_back();
        end_word();
        behind_blanks_ = false;
      }
    }
    return {};
  }

  // To bash what is many and not quoted is joined and split then, which shows where no blank does.
  bool separates_by_mark() const {
    return is_bash() && !separators_.empty() && !is_blank(separators_.front());
  }

  static bool asks_for_value(const Piece& piece) {
    return piece.operation.ends_with('?') || piece.operation.ends_with('=');
  }

  // Many as one: $* by the first separator.
  std::string joined(const Piece& piece, const std::vector<std::string>& all) const {
    const bool by_separator = piece.text == "*" || piece.elements == Piece::Elements::joined;
    return fmt::format("{}", fmt::join(all, by_separator ? separators_.substr(0, 1) : " "));
  }

  Result<std::string> value_of(const Piece& piece) {
    switch (piece.kind) {
      case Piece::Kind::literal:
        return piece.text;
      case Piece::Kind::arithmetic: {
        TRY(const std::int64_t value, number_of(piece.word));
        return std::to_string(value);
      }
      case Piece::Kind::output:
        return variables_.output_of(piece);
      case Piece::Kind::variable:
        break;
    }
    TRY(const Found found, look_up(piece));
    return variable(piece, found);
  }

  bool is_bash() const { return variables_.dialect() == Dialect::bash; }

  Result<std::int64_t> number_of(const std::vector<Piece>& expression) {
    TRY(const std::string text, text_of(expression));
    return arithmetic(text, variables_);
  }

  // As it is without its operation.
  Result<std::optional<std::string>> plain(const Piece& piece) {
    if (piece.text == "#") return std::to_string(variables_.arguments().size());
    if (has_many(piece)) {
      const auto all = elements_of(piece);
      if (!all || (all->empty() && piece.elements != Piece::Elements::one)) return std::nullopt;
      return joined(piece, *all);
    }
    if (piece.indirect) {
      TRY(const std::string name, pointed_to(piece));
      return variables_.value(name);
    }
    if (piece.index.empty()) return variables_.value(piece.text);
    TRY(std::int64_t index, number_of(piece.index));
    const auto all = variables_.elements(piece.text).value_or(std::vector<std::string>());
    const auto size = static_cast<std::int64_t>(all.size());
    if (index < 0) index += size;
    if (index < 0 || index >= size) return std::nullopt;
    return all[static_cast<std::size_t>(index)];
  }

  std::optional<std::vector<std::string>> elements_of(const Piece& piece) const {
    if (piece.elements != Piece::Elements::one) return variables_.elements(piece.text);
    return variables_.arguments();
  }

  // What is left of each element, or of all, by the operation.
  Result<std::vector<std::string>> list_of(const Piece& piece) {
    std::vector<std::string> all = elements_of(piece).value_or(std::vector<std::string>());
    if (piece.operation == ":") {
      // The arguments are counted from $0 on.
      if (piece.elements == Piece::Elements::one)
        all.insert(all.begin(), variables_.value("0").value_or(""));
      TRY(const Range range, range_of(piece, all.size()));
      return std::vector<std::string>(all.begin() + range.begin, all.begin() + range.end);
    }
    for (std::string& one : all) {
      TRY(one, changed(piece, std::move(one)));
    }
    return all;
  }

  struct Range {
    std::ptrdiff_t begin = 0, end = 0;
  };
  // Of ${NAME:offset} and ${NAME:offset:length}.
  Result<Range> range_of(const Piece& piece, std::size_t all) {
    const auto size = static_cast<std::int64_t>(all);
    TRY(std::int64_t begin, number_of(piece.word));
    if (begin < 0) begin += size;
    if (begin < 0 || begin > size) return Range{};
    std::int64_t end = size;
    if (!piece.more.empty()) {
      TRY(const std::int64_t length, number_of(piece.more));
      const bool from_end = length < 0;
      if (from_end && (has_many(piece) || size + length < begin))
        return fail(wrong(fmt::format("{}: substring expression < 0", length)));
      end = from_end ? size + length : length > size - begin ? size : begin + length;
    }
    return Range{static_cast<std::ptrdiff_t>(begin), static_cast<std::ptrdiff_t>(end)};
  }

  // A value after an operation that takes a part off, or changes it.
  Result<std::string> changed(const Piece& piece, std::string value) {
    const std::string_view operation = piece.operation;
    const char first = operation.empty() ? ' ' : operation.front();
    if (first == '^' || first == ',') return in_other_letters(std::move(value), operation);
    if (first != '#' && first != '%' && first != '/') return value;
    TRY(const std::string pattern, text_of(piece.word, pattern_marks));
    if (first != '/') return without(value, pattern, operation);
    TRY(const std::string text, text_of(piece.more));
    return replaced(value, pattern, text, operation);
  }

  // By ${!NAME}.
  Result<std::string> pointed_to(const Piece& piece) const {
    const auto name = variables_.value(piece.text);
    if (!name) return fail(wrong(fmt::format("{}: invalid indirect expansion", piece.text)));
    if (name->empty() || !std::all_of(name->begin(), name->end(), is_name))
      return fail(wrong(fmt::format("{}: invalid variable name", *name)));
    return *name;
  }

  Result<std::string> variable(const Piece& piece, const Found& found) {
    std::string_view operation = piece.operation;
    const auto& [value, missing, otherwise] = found;
    if (otherwise) return text_of(piece.word);
    if (operation == "length" && has_many(piece))
      return std::to_string(elements_of(piece).value_or(std::vector<std::string>()).size());
    if (has_many(piece) && !asks_for_value(piece)) {
      TRY(const std::vector<std::string> all, list_of(piece));
      return joined(piece, all);
    }
    if (operation.size() == 2 && operation.starts_with(':')) operation.remove_prefix(1);
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
    if (!value && variables_.unset_is_an_error()) {
      TRY(const std::string index, text_of(piece.index));
      return fail(
          missing_value(fmt::format("{}{}: {}", piece.text, index.empty() ? "" : "[" + index + "]",
                                    is_bash() ? "unbound variable" : "parameter not set")));
    }
    const std::string text = value.value_or("");
    if (operation == "length") return std::to_string(text.size());
    if (operation != ":" || !value) return changed(piece, text);
    TRY(const Range range, range_of(piece, text.size()));
    return std::string(text.begin() + range.begin, text.begin() + range.end);
  }

  Variables& variables_;
  std::vector<std::string> all_{};
  std::string text_{};
  bool any_ = false;
  std::string separators_;      // IFS
  bool behind_blanks_ = false;  // which have ended a word
};

}  // namespace

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::all_of(text.begin(), text.end(), is_name);
}

std::optional<std::string> Word::literal() const {
  std::string text;
  for (const Piece& piece : pieces) {
    if (piece.kind != Piece::Kind::literal) return std::nullopt;
    text += piece.text;
  }
  return text;
}

void join(Word& word) {
  for (Piece& piece : word.pieces) {
    piece.quoted = true;
    if (piece.kind == Piece::Kind::variable && piece.text == "@") piece.text = "*";
    if (piece.elements == Piece::Elements::each) piece.elements = Piece::Elements::joined;
  }
}

std::string_view operation_at(std::string_view text, Dialect dialect) {
  constexpr std::size_t of_posix = 12;
  constexpr std::array<std::string_view, 21> known{":-", ":+", ":=", ":?", "##", "%%", "-",
                                                   "+",  "=",  "?",  "#",  "%",  "//", "/#",
                                                   "/%", "/",  "^^", "^",  ",,", ",",  ":"};
  for (const std::string_view one :
       std::span(known).first(dialect == Dialect::bash ? known.size() : of_posix))
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
  return Expansion(variables).text_of(word.pieces, pattern_marks);
}

Result<std::string> expand_expression(const Word& word, Variables& variables) {
  return Expansion(variables).text_of(word.pieces, ".[]*^$\\+?(){}|");
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
    outputs_in(piece.index, variables, all);
    std::string_view operation = piece.operation;
    const bool plain = piece.index.empty() && !piece.indirect;
    if (variables != nullptr && piece.kind == Piece::Kind::variable && !operation.empty() &&
        plain) {
      bool missing = false;
      if (piece.elements != Piece::Elements::one) {
        const auto elements = variables->elements(piece.text);
        missing = !elements || elements->empty() ||
                  (operation.starts_with(':') && *elements == std::vector<std::string>{""});
      } else {
        const auto value = variables->value(piece.text);
        missing = !value || (operation.starts_with(':') && value->empty());
      }
      if (operation.starts_with(':')) operation.remove_prefix(1);
      const bool if_missing = operation == "-" || operation == "=" || operation == "?";
      if ((if_missing && !missing) || (operation == "+" && missing)) continue;
    }
    outputs_in(piece.word, variables, all);
    outputs_in(piece.more, variables, all);
  }
}

}  // namespace ddptwin::model::shell
