#include "runtime/model/shell/formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace ddptwin::model::shell {
namespace {

using Strings = std::vector<std::string>;

struct Escapes {
  bool zero_first;  // an octal number begins with 0: echo, and printf's %b
  bool upper_e;     // \E is ESC, as \e: bash
};

// What stands behind a backslash, which is at `at`; `at` is then behind it. Nothing: \c.
std::optional<std::string> escape(std::string_view text, std::size_t& at, const Escapes& known) {
  constexpr std::string_view letters = "abfnrtv\\", codes = "\a\b\f\n\r\t\v\\";
  const char c = at + 1 < text.size() ? text[at + 1] : '\0';
  at += 2;
  if (c == 'c') return std::nullopt;
  if (const std::size_t found = letters.find(c); c != '\0' && found != letters.npos)
    return std::string(1, codes[found]);
  if (c == 'e' || (c == 'E' && known.upper_e)) return "\x1b";
  const auto is_octal = [](char digit) { return digit >= '0' && digit <= '7'; };
  if (known.zero_first ? c == '0' : is_octal(c)) {
    if (!known.zero_first) --at;
    int value = 0;
    for (int i = 0; i < 3 && at < text.size() && is_octal(text[at]); ++i)
      value = value * 8 + (text[at++] - '0');
    return std::string(1, static_cast<char>(value));
  }
  if (c == '\0') --at;
  return c == '\0' ? std::string("\\") : std::string("\\") + c;
}

// With its escapes; true: \c ended it.
bool add_escaped(std::string& to, std::string_view text, const Escapes& known) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      to += text[at++];
      continue;
    }
    const auto made = escape(text, at, known);
    if (!made) return true;
    to += *made;
  }
  return false;
}

// One % of a format, behind which `format` begins.
class Conversion {
 public:
  static Result<Conversion> read(std::string_view& format) {
    Conversion made;
    const std::size_t end = format.find_first_not_of("-+ 0#123456789.");
    if (end == format.npos) return fail(Reason::invalid, "printf with half a %");
    made.flags_ = format.substr(0, end);
    made.letter_ = format[end];
    format.remove_prefix(end + 1);
    if (std::string_view("sdiuxXoc%b").find(made.letter_) == std::string_view::npos)
      return fail(Reason::invalid, fmt::format("printf with %{}", made.letter_));
    constexpr std::size_t width_max = 6;
    if (made.flags_.size() > width_max) return fail(Reason::invalid, "printf with a wide %");
    return made;
  }

  bool takes() const { return letter_ != '%'; }

  // True: \c of a %b ended it all.
  bool apply(std::string& to, const std::string& argument, bool is_bash) const {
    if (letter_ == '%') {
      to += '%';
      return false;
    }
    if (letter_ == 'b') return add_escaped(to, argument, {true, is_bash});
    if (letter_ == 's' || letter_ == 'c') {
      const std::string shown = letter_ == 'c' ? argument.substr(0, 1) : argument;
      add(to, "%" + flags_ + "s", shown.c_str());
      return false;
    }
    // Octal and hexadecimal too, as in C.
    add(to, "%" + flags_ + "ll" + letter_, std::strtoll(argument.c_str(), nullptr, 0));
    return false;
  }

 private:
  template <class T>
  static void add(std::string& to, const std::string& format, T value) {
    const int size = std::snprintf(nullptr, 0, format.c_str(), value);
    if (size < 0) return;
    const std::size_t before = to.size();
    to.resize(before + static_cast<std::size_t>(size) + 1);
    std::snprintf(to.data() + before, static_cast<std::size_t>(size) + 1, format.c_str(), value);
    to.pop_back();
  }

  std::string flags_{};
  char letter_ = '%';
};

}  // namespace

std::string echo_text(const Strings& arguments, Dialect dialect) {
  const bool is_bash = dialect == Dialect::bash;
  bool ends_line = true, escapes = !is_bash;
  auto from = arguments.begin();
  for (; from != arguments.end(); ++from) {
    const std::string& word = *from;
    if (!is_bash && (word != "-n" || from != arguments.begin())) break;
    const bool option = word.size() > 1 && word.front() == '-' &&
                        word.find_first_not_of(is_bash ? "neE" : "n", 1) == word.npos;
    if (!option) break;
    for (const char letter : std::string_view(word).substr(1)) {
      if (letter == 'n') ends_line = false;
      if (letter != 'n') escapes = letter == 'e';
    }
  }
  const std::string text = fmt::format("{}", fmt::join(from, arguments.end(), " "));
  std::string made;
  if (!escapes) {
    made = text;
  } else if (add_escaped(made, text, {true, is_bash})) {
    return made;
  }
  return ends_line ? made + "\n" : made;
}

Result<std::string> printf_text(const Strings& arguments, Dialect dialect) {
  const bool is_bash = dialect == Dialect::bash;
  const std::size_t first = !arguments.empty() && arguments.front() == "--" ? 1 : 0;
  std::string made;
  if (arguments.size() <= first) return made;
  std::size_t next = first + 1;
  do {
    const std::size_t before = next;
    std::string_view format = arguments[first];
    while (!format.empty()) {
      const std::size_t literal = std::min(format.find('%'), format.size());
      if (add_escaped(made, format.substr(0, literal), {false, is_bash})) return made;
      format.remove_prefix(literal);
      if (format.empty()) break;
      format.remove_prefix(1);
      if (format.empty()) return fail(Reason::invalid, "printf with half a %");
      TRY(const Conversion conversion, Conversion::read(format));
      std::string argument;
      if (conversion.takes() && next < arguments.size()) argument = arguments[next++];
      if (conversion.apply(made, argument, is_bash)) return made;
    }
    if (next == before) break;  // it takes none
  } while (next < arguments.size());
  return made;
}

}  // namespace ddptwin::model::shell
