// Why a host refuses what sandboxes need.
#pragma once

#include <string_view>

#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {

inline constexpr std::string_view mounting_proc = "mount /proc";

// The error of a step towards the cluster's namespaces that failed with errno `number`: which of
// the limits that hosts set is the cause, and what to change. Reason::unsupported_machine.
tl::unexpected<Error> unsupported(std::string_view step, int number);

}  // namespace ddptwin::sandbox
