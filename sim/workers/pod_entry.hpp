// What a freshly forked worker does before it is one: it enters its pod.
#pragma once

#include "zygote_protocol.hpp"

namespace ddptwin::workers {

struct EntryReport {
  int error = 0;       // errno; 0: inside
  char step[60] = {};  // which step failed
};

// Joins cgroup and namespaces, changes root and folder, takes over stdio, environment and limits,
// gives up capabilities, and ties its life to its parent's. `null` is /dev/null, opened before the
// root changed.
EntryReport enter_pod(const zygote::Spawn& spawn, int null);

}  // namespace ddptwin::workers
