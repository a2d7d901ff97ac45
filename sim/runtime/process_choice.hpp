// Which process of a container a signal is for: one rule for real processes and modelled ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddptwin {

// Without a rank and a part of a command line: the container's first process.
struct ProcessChoice {
  std::optional<std::int64_t> rank{};  // the process whose RANK this is
  std::string command{};               // every process whose command line has this part
  bool group = false;                  // and all of its process group
  bool is_first() const { return !rank && command.empty(); }
  bool is_first_alone() const { return is_first() && !group; }
  // "rank 3", "the group of the first process"
  std::string text() const;
  friend bool operator==(const ProcessChoice&, const ProcessChoice&) = default;
};

// What has to be known of a process of the container.
struct ProcessFacts {
  std::int64_t id = 0;
  std::int64_t parent = 0;          // 0, or one that is not among them: none
  std::vector<std::string> argv{};  // empty: a thread of the kernel, or it has ended
  std::string rank{};               // of its environment; empty: none
  bool is_elastic = false;          // started by torchrun: its environment has TORCHELASTIC_RUN_ID
  bool is_asked = false;            // began as a command of an exec
};

// Those that are meant, by their ids in ascending order; what a command of an exec began is never.
// Where torchrun started ranks, those of its own environment do not count, and shells are not meant
// where others are: they hand the environment on. Of a rank it is the oldest.
std::vector<std::int64_t> chosen(const std::vector<ProcessFacts>& processes,
                                 const ProcessChoice& choice);

}  // namespace ddptwin
