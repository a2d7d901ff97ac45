#include "scenario/words/line_tags.hpp"

#include <algorithm>
#include <cctype>

namespace ddptwin::scenario {

std::string_view without_tags(std::string_view line) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (line.starts_with('[')) {
    const std::size_t end = line.find("]:");
    // A place in a source, "[./gloo/pair.cc:598]", belongs to the words.
    if (end == line.npos || !is_digit(line[end - 1])) break;
    const std::string_view tag = line.substr(1, end - 1);
    if (tag.find_first_of(" :/[") != tag.npos) break;
    line.remove_prefix(end + 2);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
  return line;
}

}  // namespace ddptwin::scenario
