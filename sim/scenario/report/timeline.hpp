// What happened, in order, and why: each row names the row that led to it, by the causes that the
// trace keeps.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"

namespace ddptwin::scenario {

class Timeline {
 public:
  struct Row {
    std::uint64_t record = 0;
    Time time{};
    std::string subject{};
    std::string text{};
    std::size_t because = 0;  // a row's number, from 1; 0: nothing known
    std::string_view rule{};  // the controller's rule in between, if any
  };

  void on_record(const Record& record);
  const std::vector<Row>& rows() const { return rows_; }

 private:
  // The nearest row that led to a record, and the rule taken since.
  struct Origin {
    std::size_t row = 0;
    std::string_view rule{};
  };
  Origin origin_of(const Record& record);

  std::vector<Row> rows_{};
  std::vector<Origin> origins_{};  // by record id
  // What the outside does (a process ends) has no cause in the trace. Of a container that a fault
  // acted on, the fault is the next one's.
  std::map<std::string, std::size_t, std::less<>> faults_{};
  // Where the trace has no cause for a change of an object, what happened to it last is one.
  std::map<std::string, std::size_t, std::less<>> last_{};  // by the row's subject
};

void print_timeline(std::ostream& out, const Timeline& timeline, Time start);

}  // namespace ddptwin::scenario
