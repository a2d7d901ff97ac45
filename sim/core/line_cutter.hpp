// Cuts what a program prints into lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ddptwin {

// A line ends at a line feed or at a carriage return, both together are one end: a progress bar
// that is drawn over itself (tqdm) is a line each time it is drawn. Blanks that only wipe such a
// bar off the screen are none. A line longer than the limit is given out in parts, as container
// runtimes do.
class LineCutter {
 public:
  static constexpr std::size_t line_max = 16 * 1024;
  using OnLine = std::function<void(std::string)>;

  void add(std::string_view bytes, const OnLine& line);
  // The rest, where the last line has no end.
  void finish(const OnLine& line);

  // Whether a bar stands there whose end comes with the next drawing, if ever.
  bool holds_bar() const { return drawn_over_ && !partial_.empty(); }
  // Gives such a bar out as it is; what comes next begins a new line.
  void give_bar(const OnLine& line);

 private:
  void cut_long(const OnLine& line);
  void carriage_return(const OnLine& line);
  void line_feed(const OnLine& line);

  std::string partial_;
  bool drawn_over_ = false;  // a carriage return stands before what is in partial_
  bool told_ = false;        // the line that a line feed would end here has been given out
};

}  // namespace ddptwin
