// What happened at each port of a run: where a fault could have acted.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "scenario/language/fault.hpp"

namespace ddptwin::scenario {

// Counts from 1; the nth of anything is what `nth` of a fault counts. Ordered, so that whoever
// walks it does so in the same order every time.
struct Census {
  using Count = std::int64_t;
  // An actor and which one of it: ("training-operator", "pytorchjob-controller").
  using Process = std::pair<std::string, std::string>;
  using Counts = std::map<std::string, Count, std::less<>>;

  std::map<Process, Count> calls{};                           // writes asked for
  std::map<Process, Count> writes{};                          // writes answered
  std::map<std::pair<Process, std::string>, Count> events{};  // by kind
  // By pod ("namespace/name") and container, init containers left out.
  std::map<std::pair<std::string, std::string>, Count> starts{};
  // The last training step of a pod, over all its lives.
  Counts steps{};
  Counts questions{};  // by name
  std::set<std::string, std::less<>> nodes{};
  std::map<std::string, std::string, std::less<>> controllers{};  // by name: its actor
};

// Whether the writes of this process are what `nth` of a fault of a controller, the scheduler, a
// node or a kubelet counts.
bool is_writer(const FaultRow& row, const Census::Process& process, const Census& census);

}  // namespace ddptwin::scenario
