#include "core/line_cutter.hpp"

#include <utility>

#include "core/utf8.hpp"

namespace ddptwin {

void LineCutter::add(std::string_view bytes, const OnLine& line) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    partial_.append(bytes.substr(0, end));
    cut_long(line);
    if (end == std::string_view::npos) return;
    if (bytes[end] == '\r')
      carriage_return(line);
    else
      line_feed(line);
    bytes.remove_prefix(end + 1);
  }
}

void LineCutter::finish(const OnLine& line) {
  if (!partial_.empty()) line(std::exchange(partial_, {}));
  drawn_over_ = told_ = false;
}

void LineCutter::give_bar(const OnLine& line) {
  if (holds_bar()) carriage_return(line);
}

void LineCutter::cut_long(const OnLine& line) {
  while (partial_.size() > line_max) {
    const std::string part(utf8_head(partial_, line_max));
    line(part);
    partial_.erase(0, part.size());
  }
}

void LineCutter::carriage_return(const OnLine& line) {
  const bool over_a_bar = std::exchange(drawn_over_, true);
  if (partial_.empty()) return;
  std::string drawn = std::exchange(partial_, {});
  told_ = !over_a_bar || drawn.find_first_not_of(' ') != drawn.npos;
  if (told_) line(std::move(drawn));
}

void LineCutter::line_feed(const OnLine& line) {
  const bool ended_already = partial_.empty() && std::exchange(told_, false);
  drawn_over_ = told_ = false;
  if (!ended_already) line(std::exchange(partial_, {}));
}

}  // namespace ddptwin
