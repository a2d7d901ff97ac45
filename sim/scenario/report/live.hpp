// What a terminal shows while a run goes on: a view that is drawn again and again, or plain lines
// where the output is no terminal.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

// One line for each thing that is told and each line that a container prints.
class PlainLines {
 public:
  PlainLines(std::ostream& out, Time start) : out_(out), start_(start) {}
  void on_record(const Record& record);

 private:
  std::ostream& out_;
  Time start_;
};

// Jobs and pods with phase, restarts and the last line each printed. Drawn over itself.
class LiveView {
 public:
  static constexpr Duration period = std::chrono::milliseconds(100);

  LiveView(std::ostream& out, const Observer& observer, std::string title, int columns, Time start)
      : out_(out),
        observer_(observer),
        title_(std::move(title)),
        columns_(columns),
        start_(start) {}
  void draw(Time now);

 private:
  std::string line_of(const Object& object) const;
  void put(std::string line);

  std::ostream& out_;
  const Observer& observer_;
  std::string title_;
  int columns_;
  Time start_;
  int drawn_ = 0;  // lines of the last drawing
};

}  // namespace ddptwin::scenario
