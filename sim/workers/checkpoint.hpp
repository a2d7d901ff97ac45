// The state of a training in a file: step, parameters, momentum. Written by rank 0 so that a
// reader, or a crash at any moment, sees the old file or the new one and nothing between
// (spec/ddp-semantics.md §5.6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"

namespace ddptwin::workers {

struct Checkpoint {
  std::int64_t step = 0;                    // steps done
  std::vector<std::vector<float>> tensors;  // value and momentum of each parameter

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

Checkpoint take_checkpoint(std::int64_t step, const std::vector<Parameter>& parameters);

// Throws PythonError if the checkpoint is of another model.
void restore_checkpoint(const Checkpoint& checkpoint, std::vector<Parameter>& parameters);

// Writes FILE.tmp-PID in the same folder, syncs it, renames it over FILE, syncs the folder.
// Throws PythonError("OSError") and leaves FILE as it was.
void write_checkpoint(const std::string& file, const Checkpoint& checkpoint);

// Nothing if there is no such file; throws PythonError if it cannot be read or is damaged.
std::optional<Checkpoint> read_checkpoint(const std::string& file);

}  // namespace ddptwin::workers
