#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/numbers.hpp"
#include "runtime/model/programs/pattern.hpp"
#include "runtime/model/programs/text_arguments.hpp"

namespace ddptwin::model::text {
namespace {

std::string grep_pattern(const Arguments& arguments) {
  std::string text = arguments.operands.front();
  if (arguments.has('F')) {
    std::string escaped;
    for (const char c : text) {
      if (std::string_view(".[]*^$\\").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
    text = escaped;
  }
  if (!arguments.has('x')) return text;
  return arguments.has('E') ? "^(" + text + ")$" : "^\\(" + text + "\\)$";
}

int grep_flags(const Arguments& arguments) {
  return (arguments.has('E') ? REG_EXTENDED : 0) | (arguments.has('i') ? REG_ICASE : 0);
}

TextResult grep(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  const Pattern pattern(grep_pattern(arguments), grep_flags(arguments));
  std::size_t count = 0;
  for (const std::string& line : lines_of(read_all(process, arguments, input, 1, result))) {
    auto found = pattern.good() ? pattern.find(line, 0) : std::nullopt;
    if (found.has_value() == arguments.has('v')) continue;
    ++count;
    if (arguments.has('q') || arguments.has('c')) continue;
    if (!arguments.has('o')) {
      result.output += line + "\n";
      continue;
    }
    while (found) {
      const auto begin = static_cast<std::size_t>((*found)[0].rm_so);
      const auto end = static_cast<std::size_t>((*found)[0].rm_eo);
      if (end > begin) result.output += line.substr(begin, end - begin) + "\n";
      const std::size_t next = std::max(end, begin + 1);
      if (next > line.size()) break;
      found = pattern.find(line, next);
    }
  }
  if (arguments.has('c')) result.output = fmt::format("{}\n", count);
  if (result.code == 0) result.code = count > 0 ? 0 : 1;
  return result;
}

bool grep_is_known(const Arguments& arguments) {
  const std::size_t operands = arguments.operands.size();
  if (operands < 1 || operands > 2) return false;
  return Pattern(grep_pattern(arguments), grep_flags(arguments)).good();
}

// s/PATTERN/TEXT/[g], with any character for /.
struct Replacement {
  std::string pattern{}, text{};
  bool all = false;
};
std::optional<Replacement> replacement_of(std::string_view script) {
  if (script.size() < 4 || script[0] != 's') return std::nullopt;
  const char delimiter = script[1];
  script.remove_prefix(2);
  std::array<std::string, 2> parts;
  for (std::string& part : parts) {
    while (!script.empty() && script.front() != delimiter) {
      if (script.front() == '\\' && script.size() > 1) {
        if (script[1] != delimiter) part += '\\';
        script.remove_prefix(1);
      }
      part += script.front();
      script.remove_prefix(1);
    }
    if (script.empty()) return std::nullopt;
    script.remove_prefix(1);
  }
  if (!script.empty() && script != "g") return std::nullopt;
  return Replacement{parts[0], parts[1], script == "g"};
}

int sed_flags(const Arguments& arguments) {
  return arguments.has('E') || arguments.has('r') ? REG_EXTENDED : 0;
}

// & and \1 to \9 in the text of a replacement.
std::string replaced(const Replacement& replacement, const std::string& line,
                     const Pattern::Found& found) {
  const auto group = [&](std::size_t i) {
    if (found[i].rm_so < 0) return std::string();
    return line.substr(static_cast<std::size_t>(found[i].rm_so),
                       static_cast<std::size_t>(found[i].rm_eo - found[i].rm_so));
  };
  std::string text;
  for (std::size_t i = 0; i < replacement.text.size(); ++i) {
    const char c = replacement.text[i];
    if (c == '&') {
      text += group(0);
    } else if (c == '\\' && i + 1 < replacement.text.size()) {
      const char next = replacement.text[++i];
      text += next >= '0' && next <= '9' ? group(static_cast<std::size_t>(next - '0'))
              : next == 'n'              ? "\n"
                                         : std::string(1, next);
    } else {
      text += c;
    }
  }
  return text;
}

TextResult sed(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  const Replacement replacement =
      replacement_of(arguments.operands.front()).value_or(Replacement());
  const Pattern pattern(replacement.pattern, sed_flags(arguments));
  if (!pattern.good()) return {"", {"sed: -e expression #1: no such expression"}, 1};
  const std::string text = read_all(process, arguments, input, 1, result);
  Strings lines = lines_of(text);
  for (std::string& line : lines) {
    std::string made;
    std::size_t at = 0;
    for (auto found = pattern.find(line, 0); found; found = pattern.find(line, at)) {
      const auto begin = static_cast<std::size_t>((*found)[0].rm_so);
      const auto end = static_cast<std::size_t>((*found)[0].rm_eo);
      made += line.substr(at, begin - at) + replaced(replacement, line, *found);
      at = end;
      if (!replacement.all || end >= line.size()) break;
      if (end == begin) made += line[at++];
    }
    line = made + line.substr(at);
  }
  result.output = joined_like(text, lines);
  return result;
}

// GNU's own \t, \U, \d and the like, which regcomp(3) takes for the letter.
bool has_letter_escape(std::string_view text, std::string_view but) {
  for (std::size_t at = text.find('\\'); at != text.npos && at + 1 < text.size();
       at = text.find('\\', at + 2)) {
    const char next = text[at + 1];
    const bool letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    if (letter && but.find(next) == but.npos) return true;
  }
  return false;
}

bool sed_is_known(const Arguments& arguments) {
  if (arguments.operands.empty() || arguments.operands.size() > 2) return false;
  const auto replacement = replacement_of(arguments.operands.front());
  return replacement && !has_letter_escape(replacement->pattern, "wWsSbB") &&
         !has_letter_escape(replacement->text, "n") &&
         Pattern(replacement->pattern, sed_flags(arguments)).good();
}

// '{print $2}', '{print $1, $NF}': the numbers, 0 for the whole line and -1 for NF.
std::optional<std::vector<int>> printed_fields(std::string_view script) {
  const auto skip = [&script] {
    while (script.starts_with(' ')) script.remove_prefix(1);
  };
  const auto take = [&](std::string_view word) {
    skip();
    if (!script.starts_with(word)) return false;
    script.remove_prefix(word.size());
    return true;
  };
  if (!take("{") || !take("print")) return std::nullopt;
  std::vector<int> fields;
  do {
    if (!take("$")) return std::nullopt;
    if (take("NF")) {
      fields.push_back(-1);
      continue;
    }
    const auto field = take_number<int>(script);
    if (!field) return std::nullopt;
    fields.push_back(*field);
  } while (take(","));
  if (!take("}")) return std::nullopt;
  skip();
  return script.empty() ? std::optional(fields) : std::nullopt;
}

TextResult awk(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  const std::string separator = arguments.value('F', " ");
  const auto printed = printed_fields(arguments.operands.front()).value_or(std::vector<int>());
  for (const std::string& line : lines_of(read_all(process, arguments, input, 1, result))) {
    Strings fields;
    std::size_t at = 0;
    while (at <= line.size() && !line.empty()) {
      if (separator == " ") at = std::min(line.find_first_not_of(" \t", at), line.size());
      if (separator == " " && at == line.size()) break;
      const std::size_t end = std::min(
          separator == " " ? line.find_first_of(" \t", at) : line.find(separator, at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    Strings shown;
    for (const int number : printed) {
      const std::size_t field = number < 0 ? fields.size() : static_cast<std::size_t>(number);
      shown.push_back(field == 0               ? line
                      : field <= fields.size() ? fields[field - 1]
                                               : std::string());
    }
    result.output += fmt::format("{}\n", fmt::join(shown, " "));
  }
  return result;
}

bool awk_is_known(const Arguments& arguments) {
  return !arguments.operands.empty() && arguments.operands.size() <= 2 &&
         arguments.value('F', " ").size() == 1 &&
         printed_fields(arguments.operands.front()).has_value();
}

constexpr std::array pattern_rows{
    TextProgram{"grep", "qvciEoFx", "", true, &grep, &grep_is_known, 1},
    TextProgram{"sed", "Er", "", true, &sed, &sed_is_known, 1},
    TextProgram{"awk", "", "F", true, &awk, &awk_is_known, 1}};

}  // namespace

std::span<const TextProgram> patterns() { return pattern_rows; }

}  // namespace ddptwin::model::text
