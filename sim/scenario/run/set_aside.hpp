// Whether a run can do without the documents that were set aside.
#pragma once

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// It cannot where an object that stays names one of them by its kind and name (an owner, what an
// autoscaler scales), and where one of them has pods and nothing else has: the run would be green
// with nothing in it. The error, Reason::bad_input with file, line and field, says so.
Status check_set_aside(const Scenario& scenario);

}  // namespace ddptwin::scenario
