// The parts of an object that claims look at.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "objects/core_v1.hpp"
#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// Every field of `part` is in `whole`: maps member by member, each element of a list somewhere in
// the other list, null where there is nothing.
bool contains_part(const boost::json::value& whole, const boost::json::value& part);

// The condition of that type that any object has in status.conditions, or null.
const boost::json::object* find_condition(const boost::json::value& object, std::string_view type);

// The statuses of a pod's containers of that name, of all where it is empty; init containers too.
std::vector<const ContainerStatus*> statuses_of(const Pod& pod, std::string_view container);
// The runtime's id of it: what stands behind the scheme in "containerd://ID".
std::string runtime_id(const ContainerStatus& status);
std::int64_t restarts_of(const Pod& pod, std::string_view container);
// The code of the last end that is known, in its state or its lastState.
std::vector<std::int64_t> exit_codes_of(const Pod& pod, std::string_view container);

// The number of a training step that a line tells the end of ("step 7/20 ...", "step=7"), and the
// total it names; 0 where it does not.
struct StepLine {
  std::int64_t step = 0;
  std::int64_t total = 0;
};
StepLine step_of(std::string_view line);

}  // namespace ddptwin::scenario
