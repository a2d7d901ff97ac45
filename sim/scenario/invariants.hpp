// What must hold at every moment of every run, whatever the scenario (spec/failure-modes.md §2). A
// scenario may switch one off, and says why.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"

namespace ddptwin::scenario {

// One invariant while it watches a run. It reads the records and nothing else.
class Invariant {
 public:
  virtual ~Invariant() = default;
  // What is wrong after this record, or nothing.
  virtual std::string after(const Record& record) = 0;
};

struct InvariantRow {
  std::string_view name;     // "terminal"
  std::string_view meaning;  // one sentence
  std::unique_ptr<Invariant> (*make)();
};
std::span<const InvariantRow> invariant_rows();

struct Violation {
  std::string_view invariant{};
  std::uint64_t record = 0;
  Time time{};
  std::string text{};
};

// All invariants that a scenario did not switch off, as one sink of the trace.
class InvariantWatch {
 public:
  explicit InvariantWatch(const std::map<std::string, std::string, std::less<>>& off);

  void on_record(const Record& record);
  // The first violation of each, in the order of their happening.
  const std::vector<Violation>& violations() const { return violations_; }
  bool violated(std::string_view name) const;

 private:
  struct Watched {
    const InvariantRow* row;
    std::unique_ptr<Invariant> invariant;
  };
  std::vector<Watched> watched_{};
  std::vector<Violation> violations_{};
};

}  // namespace ddptwin::scenario
