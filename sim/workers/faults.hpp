// Ways to die on purpose, for scenarios: --fail-* and --allocate.
#pragma once

#include <cstdint>
#include <string>

#include "options.hpp"

namespace ddptwin::workers {

// Where --fail-once remembers that this rank has failed before.
std::string failure_mark(const Options& options, int rank);

// After step `step` is done: does not return if the rank is to fail there. With --fail-once the
// mark is made (and synced) first, so a second attempt goes on.
void fail_if_due(const Options& options, int rank, std::int64_t step);

// At step `step` (0: before the rendezvous) allocates and touches the memory that is asked for, and
// keeps it. Throws PythonError when the allocator refuses (RLIMIT_AS); a memory cgroup kills the
// process instead, 137 (spec/ddp-semantics.md §6.5).
void allocate_if_due(const Options& options, int rank, std::int64_t step);

}  // namespace ddptwin::workers
