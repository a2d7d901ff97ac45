// Which modelled processes a signal from outside is for.
#pragma once

#include <vector>

#include "runtime/model/kernel.hpp"
#include "runtime/process_choice.hpp"

namespace ddptwin::model {

// In the order in which they get it: the first process of a container last, whose end is that of
// all others.
std::vector<ProcessId> meant_by(const Kernel& kernel, const ModelContainer& container,
                                const ProcessChoice& choice);

}  // namespace ddptwin::model
