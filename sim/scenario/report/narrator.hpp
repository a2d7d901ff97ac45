// Tells in a few words what a record means to somebody who watches a run.
#pragma once

#include <optional>
#include <string>

#include "core/trace.hpp"

namespace ddptwin::scenario {

struct Told {
  std::string subject{};  // "pod/mnist-worker-0", "step shot"
  std::string text{};     // "Running", "created"
};

// Nothing where the record is a detail: most changes of objects, log lines, rules, DNS answers.
std::optional<Told> tell(const Record& record);

// "pod/mnist-worker-0"; the namespace only where it is not default.
std::string short_name(const Object& object);

// Seconds since the start: "1.250s".
std::string elapsed(Duration time);

}  // namespace ddptwin::scenario
