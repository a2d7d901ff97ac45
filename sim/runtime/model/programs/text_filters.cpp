#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "core/numbers.hpp"
#include "runtime/model/programs/text_arguments.hpp"

namespace ddptwin::model::text {
namespace {

TextResult cat(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  result.output = read_all(process, arguments, input, 0, result);
  return result;
}

Strings opened(Process& process, const Arguments& arguments, TextResult& result) {
  Strings files;
  for (const std::string& name : arguments.operands) {
    if (name == "/dev/null") continue;
    const Status made =
        arguments.has('a') ? process.append_file(name, "") : process.write_file(name, "");
    if (made) {
      files.push_back(process.path_of(name));
    } else {
      result.errors.push_back(fmt::format("tee: {}: No such file or directory", name));
      result.code = 1;
    }
  }
  return files;
}

TextResult tee(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result{input, {}, 0};
  for (const std::string& file : opened(process, arguments, result))
    (void)process.append_file(file, input);  // it has just been opened
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
  if (arguments.has('c')) {
    const std::uint64_t bytes = size_of(arguments.value('c')).value_or(0);
    if (is_endless(arguments.operands.front())) {
      result.blank = bytes;
      result.are_zeros = arguments.operands.front() == "/dev/zero";
    } else {
      result.output = read_all(process, arguments, input, 0, result);
      result.output.resize(std::min<std::uint64_t>(bytes, result.output.size()));
    }
    return result;
  }
  const std::string text = read_all(process, arguments, input, 0, result);
  Strings lines = lines_of(text);
  const auto most =
      static_cast<std::size_t>(whole_number<std::int64_t>(arguments.value('n', "10")).value_or(0));
  const bool all = lines.size() <= most;
  lines.resize(std::min(lines.size(), most));
  result.output = all ? joined_like(text, lines) : joined(lines);
  return result;
}

TextResult tail(Process& process, const Arguments& arguments, const std::string& input) {
  TextResult result;
  const std::string text = read_all(process, arguments, input, 0, result);
  Strings lines = lines_of(text);
  std::string count = arguments.value('n', "10");
  const bool from = count.starts_with('+');
  if (from) count.erase(0, 1);
  const auto number = static_cast<std::size_t>(whole_number<std::int64_t>(count).value_or(0));
  const std::size_t skipped =
      from ? (number == 0 ? 0 : number - 1) : lines.size() - std::min(number, lines.size());
  lines.erase(lines.begin(),
              lines.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, lines.size())));
  result.output = joined_like(text, lines);
  return result;
}

// "2", "1,3", "2-", "-3".
bool is_in(std::string_view list, std::size_t position) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    const std::size_t dash = one.find('-');
    const auto number = [](std::string_view text, std::size_t otherwise) {
      const auto value = whole_number<std::int64_t>(text);
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

constexpr std::string_view tee_flags = "ai";
constexpr std::array filter_rows{
    TextProgram{"cat", "", "", true, &cat},
    TextProgram{"tee", tee_flags, "", true, &tee, nullptr, SIZE_MAX},
    TextProgram{"wc", "lwc", "", true, &wc,
                [](const Arguments& arguments) {
                  return arguments.options.size() == 1 && arguments.operands.size() < 2;
                }},
    TextProgram{"head", "", "nc", true, &head,
                [](const Arguments& arguments) {
                  if (arguments.has('c'))
                    return size_of(arguments.value('c')).has_value() && !arguments.has('n') &&
                           arguments.operands.size() == 1 && arguments.operands.front() != "-";
                  return is_number(arguments.value('n', "10")) && arguments.operands.size() < 2;
                }},
    TextProgram{"tail", "", "n", true, &tail,
                [](const Arguments& arguments) {
                  const std::string count = arguments.value('n', "10");
                  return is_number(count.starts_with('+') ? count.substr(1) : count) &&
                         arguments.operands.size() < 2;
                }},
    TextProgram{"cut", "s", "dfc", true, &cut, &cut_is_known},
    TextProgram{"tr", "ds", "", true, &tr, &tr_is_known, SIZE_MAX},
    TextProgram{"sort", "nru", "", true, &sort}};

}  // namespace

std::span<const TextProgram> filters() { return filter_rows; }

}  // namespace ddptwin::model::text

namespace ddptwin::model {

Strings open_for_tee(Process& process, const Strings& argv, TextResult& result) {
  return text::opened(process, text::arguments_of(argv, text::tee_flags, ""), result);
}

}  // namespace ddptwin::model
