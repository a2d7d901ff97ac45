// New processes of the supervisor's, in PID namespaces of its choice. Each returns twice, as fork
// does: 0 in the new process, a child of the supervisor.
#pragma once

#include <sys/types.h>

#include "core/result.hpp"

namespace ddptwin::sandbox {

Result<pid_t> clone_process(int clone_flags);
// In the PID namespace.
Result<pid_t> clone_into(int pid_namespace, int clone_flags);
// As the first process of a new PID namespace whose parent is the given one.
Result<pid_t> clone_below(int pid_namespace, int clone_flags);

}  // namespace ddptwin::sandbox
