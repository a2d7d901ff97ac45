// What a run is for whose expectations say nothing of its end.
#pragma once

#include <vector>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// Whether an expectation asks for something to come, or to stay for a while.
bool says_an_end(const Scenario& scenario);

// Each job that the scenario applies, at once or in a step, succeeds; so does each pod that nobody
// owns, or it becomes Running and Ready and stays so where its restartPolicy is Always. Of what a
// step deletes nothing is expected, and of a job that is left suspended, that it is.
std::vector<Expectation> default_expectations(const Scenario& scenario);

}  // namespace ddptwin::scenario
