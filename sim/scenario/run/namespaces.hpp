// The namespaces that a run begins with beside the cluster's own.
#pragma once

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// The scenario's own, and, unless it is strict about them, those that objects are in and no
// document makes: as on a cluster that has been used before. Of these the trace has a note.
Status add_namespaces(World& world, const Scenario& scenario);

// And the claims that the scenario has a folder for and that no document makes, each bound to a
// volume that is the folder. Errors: bad_input, where the folder is named.
Status add_claims(World& world, const Scenario& scenario);

// Where a document makes the namespace; empty: nowhere.
std::string where_made(const Scenario& scenario, std::string_view name);

}  // namespace ddptwin::scenario
