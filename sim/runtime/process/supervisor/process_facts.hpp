// What /proc tells of the processes of a container.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/process_choice.hpp"

namespace ddptwin::sandbox {

// Of those that are still there; `asked` began as commands of execs.
std::vector<ProcessFacts> facts_of(const std::vector<pid_t>& processes,
                                   const std::vector<pid_t>& asked);

// A process with that command line and environment (NAME=value).
void describe(ProcessFacts& process, const std::vector<std::string>& argv,
              const std::vector<std::string>& env);

}  // namespace ddptwin::sandbox
