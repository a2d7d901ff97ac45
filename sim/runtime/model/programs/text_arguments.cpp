#include "runtime/model/programs/text_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddptwin::model::text {

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

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

std::string joined_like(std::string_view text, const Strings& lines) {
  std::string made = joined(lines);
  if (!made.empty() && !text.ends_with('\n')) made.pop_back();
  return made;
}

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

}  // namespace ddptwin::model::text
