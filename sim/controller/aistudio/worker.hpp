// What a worker's pod tells: its check, its entry command, its end (spec/aistudio.md §4, §5).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/aistudio/policy.hpp"

namespace ddptwin::controller::aistudio {

struct Worker {
  int rank = 0;
  std::string name{};
  std::shared_ptr<const Pod> pod{};  // of this attempt; null: there is none

  bool is_placed() const { return pod != nullptr && !pod->spec->nodeName.empty(); }
  bool checks_now() const;     // its check has begun, or is over
  bool has_checked() const;    // and is over, and lets the training start
  bool has_started() const;    // so has its entry command
  bool has_succeeded() const;  // and has ended with 0
};

// How a worker failed; nothing where it has not.
struct Failure {
  enum class Kind : std::uint8_t { check, command, lost } kind = Kind::lost;
  int rank = 0;
  std::optional<int> exit_code{};
  OptionalTime at{};
};
std::optional<Failure> failure_of(const Worker& worker);

// What its check has found, from the container's termination message.
std::vector<DDPTaskFinding> findings_of(const Worker& worker);

// The first of them by time, by rank where that is equal.
const Failure& first_of(const std::vector<Failure>& failures);

}  // namespace ddptwin::controller::aistudio
