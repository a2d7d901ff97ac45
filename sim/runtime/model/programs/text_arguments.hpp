// What the programs of text.hpp share: their command lines, and text by lines. One table
// of them a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/programs/text.hpp"

namespace ddptwin::model {

using Strings = std::vector<std::string>;

// A command line as getopt(3) reads it: options before and after operands.
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

namespace text {

using Arguments = TextProgram::Arguments;

// `flags` are options of one letter, `valued` those with a value. "-" among the flags: a number
// with a sign is an operand; "n" among the valued: `head -5`.
Arguments arguments_of(const Strings& argv, std::string_view flags, std::string_view valued);

bool is_number(std::string_view text);
template <std::size_t least, std::size_t most>
bool has_operands(const Arguments& arguments) {
  return arguments.operands.size() >= least && arguments.operands.size() <= most;
}

Strings lines_of(std::string_view text);
std::string joined(const Strings& lines);
// The same of lines the last of which is that text's last: it ends as that one does.
std::string joined_like(std::string_view text, const Strings& lines);
// The files' contents, or the input where none is named; what cannot be read is in the result.
std::string read_all(Process& process, const Arguments& arguments, const std::string& input,
                     std::size_t first_file, TextResult& result);

std::span<const TextProgram> filters();   // cat, cut, sort, ...
std::span<const TextProgram> patterns();  // grep, sed, awk
std::span<const TextProgram> sources();   // those that read nothing: date, seq, mkdir, ...
std::span<const TextProgram> writers();   // those that fill files: dd, fallocate, truncate

// "40M", "1kB", "512": bytes as head(1), dd(1) and their like read them. Nothing: it is none.
std::optional<std::uint64_t> size_of(std::string_view text);
// A device that is never at its end.
bool is_endless(std::string_view path);

}  // namespace text
}  // namespace ddptwin::model
