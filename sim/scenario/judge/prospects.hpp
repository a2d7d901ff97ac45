// Whether a state can still come true once no step is left to change anything: a job that has ended
// stays as it ended, a pod too unless its job makes it anew, and what is gone for good has no
// future.
#pragma once

#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

// True where it is not known. What is said of objects other than jobs and pods, of Events and of
// any field that there may be, is not known.
bool may_come(const Observer& observer, const State& state);

}  // namespace ddptwin::scenario
