#include "cluster/model_runtime/text_programs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <map>
#include <optional>

namespace ddptwin::model {

using Strings = std::vector<std::string>;

struct TextProgram::Arguments {
  std::string name;
  std::map<char, std::string> options;  // of those without a value: empty
  Strings operands;
  std::string unknown;  // an option that is not known

  bool has(char option) const { return options.contains(option); }
  std::string value(char option, std::string otherwise = {}) const {
    const auto found = options.find(option);
    return found == options.end() ? std::move(otherwise) : found->second;
  }
};

namespace {

using Arguments = TextProgram::Arguments;

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// As getopt(3) reads them, options before and after operands.
Arguments arguments_of(const Strings& argv, std::string_view flags, std::string_view valued) {
  Arguments made{argv.front().substr(argv.front().rfind('/') + 1), {}, {}, {}};
  bool only_operands = false;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (only_operands || word.size() < 2 || word.front() != '-') {
      made.operands.push_back(word);
    } else if (word == "--") {
      only_operands = true;
    } else if (valued.find('n') != valued.npos && is_number(std::string_view(word).substr(1))) {
      made.options['n'] = word.substr(1);  // head -5
    } else if (flags.find('-') != flags.npos && is_number(std::string_view(word).substr(1))) {
      made.operands.push_back(word);  // seq: a negative number
    } else {
      for (std::size_t at = 1; at < word.size(); ++at) {
        const char letter = word[at];
        if (valued.find(letter) != valued.npos) {
          std::string value = word.substr(at + 1);
          if (value.empty() && i + 1 < argv.size()) value = argv[++i];
          made.options[letter] = std::move(value);
          break;
        }
        if (letter == '-' || flags.find(letter) == flags.npos) {
          made.unknown = word.starts_with("--") ? word : fmt::format("-{}", letter);
          break;
        }
        made.options[letter];
      }
    }
  }
  return made;
}

Strings lines_of(std::string_view text) {
  Strings lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

std::string joined(const Strings& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The files' contents, or the input where none is named.
std::string read_all(Process& process, const Arguments& arguments, const std::string& input,
                     std::size_t first_file, TextResult& result) {
  if (arguments.operands.size() <= first_file) return input;
  std::string text;
  for (std::size_t i = first_file; i < arguments.operands.size(); ++i) {
    const std::string& name = arguments.operands[i];
    if (name == "-") {
      text += input;
    } else if (const Result<std::string> content = process.read_file(name)) {
      text += *content;
    } else {
      result.errors.push_back(
          fmt::format("{}: {}: No such file or directory", arguments.name, name));
      result.code = arguments.name == "grep" ? 2 : 1;
    }
  }
  return text;
}

TextResult cat(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  result.output = read_all(process, arguments, input, 0, result);
  return result;
}

TextResult tee(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result{input, {}, 0};
  for (const std::string& name : arguments.operands) {
    if (name == "/dev/null") continue;
    const Status written =
        arguments.has('a') ? process.append_file(name, input) : process.write_file(name, input);
    if (written) continue;
    result.errors.push_back(fmt::format("tee: {}: No such file or directory", name));
    result.code = 1;
  }
  return result;
}

TextResult wc(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  const std::string text = read_all(process, arguments, input, 0, result);
  std::size_t words = 0;
  bool within = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (!blank && !within) ++words;
    within = !blank;
  }
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  const std::size_t number = arguments.has('l') ? lines : arguments.has('w') ? words : text.size();
  const std::string name = arguments.operands.empty() ? "" : " " + arguments.operands.front();
  if (result.code == 0) result.output = fmt::format("{}{}\n", number, name);
  return result;
}

TextResult head(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  Strings lines = lines_of(read_all(process, arguments, input, 0, result));
  const auto most = static_cast<std::size_t>(whole_number(arguments.value('n', "10")).value_or(0));
  if (lines.size() > most) lines.resize(most);
  result.output = joined(lines);
  return result;
}

TextResult tail(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  Strings lines = lines_of(read_all(process, arguments, input, 0, result));
  std::string count = arguments.value('n', "10");
  const bool from = count.starts_with('+');
  if (from) count.erase(0, 1);
  const auto number = static_cast<std::size_t>(whole_number(count).value_or(0));
  const std::size_t skipped =
      from ? (number == 0 ? 0 : number - 1) : lines.size() - std::min(number, lines.size());
  lines.erase(lines.begin(),
              lines.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, lines.size())));
  result.output = joined(lines);
  return result;
}

// "2", "1,3", "2-", "-3".
bool is_in(std::string_view list, std::size_t position) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    const std::size_t dash = one.find('-');
    const auto number = [](std::string_view text, std::size_t otherwise) {
      const auto value = whole_number(text);
      return value ? static_cast<std::size_t>(*value) : otherwise;
    };
    const std::size_t first = number(one.substr(0, dash), 1);
    const std::size_t last = dash == one.npos ? first : number(one.substr(dash + 1), SIZE_MAX);
    if (first <= position && position <= last) return true;
    list.remove_prefix(comma == list.npos ? list.size() : comma + 1);
  }
  return false;
}

TextResult cut(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  const std::string delimiter = arguments.value('d', "\t");
  for (const std::string& line : lines_of(read_all(process, arguments, input, 0, result))) {
    if (arguments.has('c')) {
      for (std::size_t i = 0; i < line.size(); ++i)
        if (is_in(arguments.value('c'), i + 1)) result.output += line[i];
    } else if (line.find(delimiter) == line.npos) {
      if (arguments.has('s')) continue;
      result.output += line;
    } else {
      bool first = true;
      std::size_t begin = 0;
      for (std::size_t field = 1; begin != line.npos; ++field) {
        const std::size_t end = line.find(delimiter, begin);
        if (is_in(arguments.value('f'), field)) {
          if (!first) result.output += delimiter;
          result.output += line.substr(begin, end == line.npos ? end : end - begin);
          first = false;
        }
        begin = end == line.npos ? end : end + 1;
      }
    }
    result.output += '\n';
  }
  return result;
}

bool cut_is_known(const Arguments& arguments) {
  return arguments.value('d', "\t").size() == 1 && arguments.has('f') != arguments.has('c');
}

// A set of tr(1): characters, ranges, \n \t \\ and [:class:].
std::optional<std::string> characters_of(std::string_view set) {
  struct Class {
    std::string_view name;
    std::string_view of;
  };
  constexpr std::array classes{
      Class{"[:upper:]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
      Class{"[:lower:]", "abcdefghijklmnopqrstuvwxyz"},
      Class{"[:digit:]", "0123456789"},
      Class{"[:space:]", " \t\n\v\f\r"},
      Class{"[:blank:]", " \t"},
  };
  std::string all;
  while (!set.empty()) {
    const auto known = std::find_if(classes.begin(), classes.end(),
                                    [set](const Class& one) { return set.starts_with(one.name); });
    if (known != classes.end()) {
      all += known->of;
      set.remove_prefix(known->name.size());
      continue;
    }
    if (set.starts_with("[:") || set.starts_with("[=")) return std::nullopt;
    if (set.front() == '\\' && set.size() > 1) {
      const std::size_t letter = std::string_view("nt\\").find(set[1]);
      if (letter == std::string_view::npos) return std::nullopt;
      all += "\n\t\\"[letter];
      set.remove_prefix(2);
      continue;
    }
    if (set.size() > 2 && set[1] == '-') {
      for (int c = set[0]; c <= set[2]; ++c) all += static_cast<char>(c);
      set.remove_prefix(3);
      continue;
    }
    all += set.front();
    set.remove_prefix(1);
  }
  return all;
}

TextResult tr(Process&, const Arguments& arguments, const std::string& input) {
  TextResult result;
  const std::string from = characters_of(arguments.operands.front()).value_or("");
  if (arguments.has('d')) {
    for (const char c : input)
      if (from.find(c) == from.npos) result.output += c;
    return result;
  }
  const bool translates = arguments.operands.size() > 1;
  std::string to = translates ? characters_of(arguments.operands[1]).value_or("") : from;
  while (!to.empty() && to.size() < from.size()) to += to.back();
  for (const char c : input) {
    const std::size_t at = from.find(c);
    const char made = at == from.npos ? c : to[at];
    const bool squeezed =
        arguments.has('s') && to.find(made) != to.npos && result.output.ends_with(made);
    if (!squeezed) result.output += made;
  }
  return result;
}

bool tr_is_known(const Arguments& arguments) {
  const std::size_t most = arguments.has('d') ? 1 : 2;
  const std::size_t least = arguments.has('d') || arguments.has('s') ? 1 : 2;
  const Strings& sets = arguments.operands;
  return sets.size() >= least && sets.size() <= most &&
         std::all_of(sets.begin(), sets.end(),
                     [](const std::string& set) { return characters_of(set).value_or("") != ""; });
}

// A regular expression of the C library: the same that grep and sed have.
class Pattern {
 public:
  Pattern(const std::string& text, int flags) {
    good_ = regcomp(&compiled_, text.c_str(), flags) == 0;
  }
  ~Pattern() {
    if (good_) regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  bool good() const { return good_; }
  // Where it is first found at or behind `from`: begin and end, and of its groups.
  using Found = std::array<regmatch_t, 10>;
  std::optional<Found> find(const std::string& text, std::size_t from) const {
    Found found{};
    if (regexec(&compiled_, text.c_str() + from, found.size(), found.data(),
                from > 0 ? REG_NOTBOL : 0) != 0)
      return std::nullopt;
    for (regmatch_t& one : found) {
      if (one.rm_so < 0) continue;
      one.rm_so += static_cast<regoff_t>(from);
      one.rm_eo += static_cast<regoff_t>(from);
    }
    return found;
  }

 private:
  regex_t compiled_{};
  bool good_ = false;
};

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
  for (const std::string& line : lines_of(read_all(process, arguments, input, 1, result))) {
    std::size_t at = 0;
    for (auto found = pattern.find(line, 0); found; found = pattern.find(line, at)) {
      const auto begin = static_cast<std::size_t>((*found)[0].rm_so);
      const auto end = static_cast<std::size_t>((*found)[0].rm_eo);
      result.output += line.substr(at, begin - at) + replaced(replacement, line, *found);
      at = end;
      if (!replacement.all || end >= line.size()) break;
      if (end == begin) result.output += line[at++];
    }
    result.output += line.substr(at) + "\n";
  }
  return result;
}

bool sed_is_known(const Arguments& arguments) {
  if (arguments.operands.empty() || arguments.operands.size() > 2) return false;
  const auto replacement = replacement_of(arguments.operands.front());
  return replacement && Pattern(replacement->pattern, sed_flags(arguments)).good();
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
    int field = 0;
    const auto [stop, error] = std::from_chars(script.data(), script.data() + script.size(), field);
    if (error != std::errc{} || field < 0) return std::nullopt;
    script.remove_prefix(static_cast<std::size_t>(stop - script.data()));
    fields.push_back(field);
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

TextResult sort(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  Strings lines = lines_of(read_all(process, arguments, input, 0, result));
  const auto number = [](const std::string& line) {
    std::int64_t value = 0;
    std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
  };
  std::sort(lines.begin(), lines.end(), [&](const std::string& one, const std::string& other) {
    if (arguments.has('n') && number(one) != number(other)) return number(one) < number(other);
    return one < other;
  });
  if (arguments.has('r')) std::reverse(lines.begin(), lines.end());
  if (arguments.has('u')) lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  result.output = joined(lines);
  return result;
}

// In UTC, which is what images have.
TextResult date(Process& process, const Arguments& arguments, const std::string&) {
  const Duration since = process.now().since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  std::string format = "%a %b %e %H:%M:%S UTC %Y";
  if (!arguments.operands.empty()) format = arguments.operands.front().substr(1);
  const std::string nanoseconds = fmt::format("{:09}", (since - seconds).count());
  for (const auto& [name, text] :
       {std::pair<std::string_view, std::string>{"%3N", nanoseconds.substr(0, 3)},
        std::pair<std::string_view, std::string>{"%N", nanoseconds},
        std::pair<std::string_view, std::string>{"%s", std::to_string(seconds.count())},
        std::pair<std::string_view, std::string>{"%Z", "UTC"}}) {
    for (std::size_t at = format.find(name); at != format.npos; at = format.find(name, at))
      format.replace(at, name.size(), text);
  }
  const std::time_t instant = seconds.count();
  std::tm parts{};
  gmtime_r(&instant, &parts);
  std::array<char, 200> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), format.c_str(), &parts);
  return {std::string(text.data(), size) + "\n", {}, 0};
}

bool date_is_known(const Arguments& arguments) {
  return arguments.operands.empty() ||
         (arguments.operands.size() == 1 && arguments.operands.front().starts_with('+') &&
          arguments.operands.front().size() < 100);
}

TextResult hostname(Process& process, const Arguments& arguments, const std::string&) {
  const bool address = arguments.has('i') || arguments.has('I');
  if (address) return {process.ip() + (arguments.has('I') ? " \n" : "\n"), {}, 0};
  return {(arguments.has('f') ? process.fqdn() : process.hostname()) + "\n", {}, 0};
}

TextResult nproc(Process& process, const Arguments&, const std::string&) {
  return {std::to_string(process.cpus()) + "\n", {}, 0};
}

// A run's worth: what asks for more has a mistake in it.
constexpr std::int64_t sequence_max = 100'000;

TextResult seq(Process&, const Arguments& arguments, const std::string&) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : arguments.operands) {
    const auto number = whole_number(word);
    if (!number) return {"", {fmt::format("seq: invalid floating point argument: '{}'", word)}, 1};
    numbers.push_back(*number);
  }
  const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1;
  const std::int64_t step = numbers.size() > 2 ? numbers[1] : 1;
  if (step == 0) return {"", {"seq: invalid Zero increment value: '0'"}, 1};
  TextResult result;
  std::int64_t count = 0;
  for (std::int64_t i = first; step > 0 ? i <= numbers.back() : i >= numbers.back(); i += step) {
    if (++count > sequence_max) break;
    result.output += std::to_string(i) + "\n";
  }
  return result;
}

bool seq_is_known(const Arguments& arguments) {
  return !arguments.operands.empty() && arguments.operands.size() <= 3 &&
         std::all_of(arguments.operands.begin(), arguments.operands.end(),
                     [](const std::string& word) {
                       return word.find_first_of(".eE") == word.npos || word == "$";
                     });
}

TextResult basename(Process&, const Arguments& arguments, const std::string&) {
  std::string name = arguments.operands.front();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  if (name != "/") name = name.substr(name.rfind('/') + 1);
  if (arguments.operands.size() > 1) {
    const std::string& suffix = arguments.operands[1];
    if (name.ends_with(suffix) && name != suffix) name.resize(name.size() - suffix.size());
  }
  return {name + "\n", {}, 0};
}

TextResult dirname(Process&, const Arguments& arguments, const std::string&) {
  std::string name = arguments.operands.front();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  const std::size_t slash = name.rfind('/');
  name = slash == name.npos ? "." : name.substr(0, slash);
  while (name.ends_with('/')) name.pop_back();
  return {(name.empty() ? "/" : name) + "\n", {}, 0};
}

template <std::size_t least, std::size_t most>
bool has_operands(const Arguments& arguments) {
  return arguments.operands.size() >= least && arguments.operands.size() <= most;
}

TextResult printenv(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  bool any = arguments.operands.empty();
  for (const auto& [name, value] : process.environment()) {
    const bool wanted = arguments.operands.empty() || arguments.operands.front() == name;
    if (!wanted) continue;
    result.output += arguments.operands.empty() ? name + "=" + value + "\n" : value + "\n";
    any = true;
  }
  result.code = any ? 0 : 1;
  return result;
}

TextResult mkdir(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  for (const std::string& name : arguments.operands) {
    if (process.make_folder(name)) continue;
    result.errors.push_back(
        fmt::format("mkdir: cannot create directory '{}': Read-only file system", name));
    result.code = 1;
  }
  return result;
}

TextResult touch(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  for (const std::string& name : arguments.operands) {
    const Status made = process.append_file(name, "");
    if (made) continue;
    const bool missing = made.error().code == ENOENT;
    result.errors.push_back(
        fmt::format("touch: cannot touch '{}': {}", name,
                    missing ? "No such file or directory" : "Read-only file system"));
    result.code = 1;
  }
  return result;
}

TextResult rm(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  for (const std::string& name : arguments.operands) {
    if (process.file_exists(name)) {
      process.remove_file(name);
    } else if (!arguments.has('f')) {
      result.errors.push_back(
          fmt::format("rm: cannot remove '{}': No such file or directory", name));
      result.code = 1;
    }
  }
  return result;
}

constexpr std::size_t any = SIZE_MAX;
constexpr std::array programs{
    TextProgram{"cat", "", "", true, &cat},
    TextProgram{"tee", "ai", "", true, &tee},
    TextProgram{"wc", "lwc", "", true, &wc,
                [](const Arguments& arguments) {
                  return arguments.options.size() == 1 && arguments.operands.size() < 2;
                }},
    TextProgram{"head", "", "n", true, &head,
                [](const Arguments& arguments) {
                  return is_number(arguments.value('n', "10")) && arguments.operands.size() < 2;
                }},
    TextProgram{"tail", "", "n", true, &tail,
                [](const Arguments& arguments) {
                  const std::string count = arguments.value('n', "10");
                  return is_number(count.starts_with('+') ? count.substr(1) : count) &&
                         arguments.operands.size() < 2;
                }},
    TextProgram{"cut", "s", "dfc", true, &cut, &cut_is_known},
    TextProgram{"tr", "ds", "", true, &tr, &tr_is_known},
    TextProgram{"grep", "qvciEoFx", "", true, &grep, &grep_is_known},
    TextProgram{"sed", "Er", "", true, &sed, &sed_is_known},
    TextProgram{"awk", "", "F", true, &awk, &awk_is_known},
    TextProgram{"sort", "nru", "", true, &sort},
    TextProgram{"date", "u", "", false, &date, &date_is_known},
    TextProgram{"hostname", "sfiI", "", false, &hostname, &has_operands<0, 0>},
    TextProgram{"nproc", "", "", false, &nproc, &has_operands<0, 0>},
    TextProgram{"seq", "-", "", false, &seq, &seq_is_known},
    TextProgram{"basename", "", "", false, &basename, &has_operands<1, 2>},
    TextProgram{"dirname", "", "", false, &dirname, &has_operands<1, 1>},
    TextProgram{"printenv", "", "", false, &printenv, &has_operands<0, 1>},
    TextProgram{"env", "", "", false, &printenv, &has_operands<0, 0>},
    TextProgram{"mkdir", "p", "", false, &mkdir, &has_operands<1, any>},
    TextProgram{"touch", "", "", false, &touch, &has_operands<1, any>},
    TextProgram{"rm", "rf", "", false, &rm, &has_operands<1, any>},
};

class TextProcess final : public Program {
 public:
  TextProcess(const TextProgram& program, Strings argv)
      : program_(program), argv_(std::move(argv)) {}
  void start(Process& process) override {
    TextResult result = program_.run(process, argv_, "");
    for (std::string& line : result.errors) process.print_error(std::move(line));
    process.write(result.output);
    process.exit(result.code);
  }

 private:
  const TextProgram& program_;
  Strings argv_;
};

}  // namespace

const TextProgram* TextProgram::find(std::string_view name) {
  const auto found = std::find_if(programs.begin(), programs.end(),
                                  [name](const TextProgram& one) { return one.name_ == name; });
  return found == programs.end() ? nullptr : &*found;
}

std::string TextProgram::unknown(const Strings& argv) const {
  const Arguments arguments = arguments_of(argv, flags_, valued_);
  if (!arguments.unknown.empty()) return fmt::format("{} with {}", name_, arguments.unknown);
  const bool computed = std::find(argv.begin(), argv.end(), "$") != argv.end();
  if (!computed && known_ != nullptr && !known_(arguments))
    return fmt::format("`{}`", fmt::join(argv, " "));
  return {};
}

TextResult TextProgram::run(Process& process, const Strings& argv, const std::string& input) const {
  const Arguments arguments = arguments_of(argv, flags_, valued_);
  if (!unknown(argv).empty() || (known_ != nullptr && !known_(arguments)))
    return {"", {fmt::format("{}: not modelled: {}", name_, fmt::join(argv, " "))}, 126};
  return run_(process, arguments, input);
}

std::unique_ptr<Program> make_text_program(const TextProgram& program, const Strings& argv) {
  return std::make_unique<TextProcess>(program, argv);
}

}  // namespace ddptwin::model
