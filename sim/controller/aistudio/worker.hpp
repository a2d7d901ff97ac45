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
  bool checks_now() const;      // its check has begun, or is over
  bool has_checked() const;     // and is over, and lets the training start
  bool has_started() const;     // so has its entry command
  bool runs() const;            // its container does, and so does an agent's entry command
  bool is_kept() const;         // its container does, and its agent's entry command does not
  bool has_ended_well() const;  // and has ended with 0
  bool has_succeeded() const;   // so has its pod, which the kubelet tells later
};

// How a worker failed, or that by it the task was stopped; nothing where neither is so.
struct Failure {
  enum class Kind : std::uint8_t { check, command, lost, stopped } kind = Kind::lost;
  int rank = 0;
  std::optional<int> exit_code{};
  OptionalTime at{};
};
// `by_agent`: its first process is atlctl's agent, whose last words count.
std::optional<Failure> failure_of(const Worker& worker, bool by_agent);

// What its check has found, from the container's termination message.
std::vector<DDPTaskFinding> findings_of(const Worker& worker);

// The first of them by time, by rank where that is equal.
const Failure& first_of(const std::vector<Failure>& failures);

}  // namespace ddptwin::controller::aistudio
