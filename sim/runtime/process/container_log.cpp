#include "runtime/process/container_log.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace ddptwin {

void ContainerLog::add(const std::string& line) {
  lines_.push_back(line);
  size_ += line.size() + 1;
  while (size_ > bytes_max && lines_.size() > 1) {
    size_ -= lines_.front().size() + 1;
    lines_.pop_front();
  }
}

std::string ContainerLog::tail(std::size_t lines, std::size_t bytes) const {
  std::string text;
  const std::size_t count = std::min(lines, lines_.size());
  for (auto line = lines_.end() - static_cast<std::ptrdiff_t>(count); line != lines_.end();
       ++line) {
    text += *line + "\n";
  }
  return std::string(utf8_tail(text, bytes));
}

}  // namespace ddptwin
