// Entering the namespaces that hold the whole cluster.
#pragma once

#include <string>

#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {

// A user namespace in which this user is root, with network, mount, PID, UTS and IPC namespaces of
// its own; the PID namespace takes in the next child. Errors have Reason::unsupported_machine.
Status enter_cluster_namespaces();

// In the first process of the PID namespace: the supervisor's tree, a tmpfs with the host's root at
// place::host. It has no place on the host, so nothing of it can be left there.
Status make_cluster_tree();

}  // namespace ddptwin::sandbox
