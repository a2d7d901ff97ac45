// What a scenario waits for and no described script ever prints.
#pragma once

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// Of runs in virtual time, where images[].model says all that a script prints: the error of the
// first trigger, wait or fault that looks for the end of a step of a pod none of whose containers
// tells it.
Status refuse_never_printed(const Scenario& scenario);

}  // namespace ddptwin::scenario
