// Tells in a few words what a record means to somebody who watches a run.
#pragma once

#include <optional>
#include <string>

#include "core/trace.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {

// Both printable: one row, whatever an event or a program says.
struct Told {
  std::string subject{};  // "pod/mnist-worker-0", "step shot"
  std::string text{};     // "Running", "created"
};

// Nothing where the record is a detail: most changes of objects, log lines, rules, DNS answers.
std::optional<Told> tell(const Record& record);

// Seconds since the start: "1.250s".
std::string elapsed(Duration time);
// The same where it is short, 17h7m3s where it is long: for a reader of one line.
std::string lasted(Duration time);

}  // namespace ddptwin::scenario
