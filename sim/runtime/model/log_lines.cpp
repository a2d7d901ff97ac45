#include <algorithm>

#include "core/utf8.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model {

void LogLines::add(std::string line) {
  if (lines_.size() >= lines_max)
    lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(lines_max / 2));
  lines_.push_back(std::move(line));
}

std::string LogLines::tail(std::size_t lines, std::size_t bytes) const {
  std::string text;
  const std::size_t count = std::min(lines, lines_.size());
  for (std::size_t i = lines_.size() - count; i < lines_.size(); ++i) text += lines_[i] + "\n";
  return std::string(utf8_tail(text, bytes));
}

}  // namespace ddptwin::model
