// Everything that can be known to be wrong before anything starts.
#pragma once

#include "api/client.hpp"
#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// As kubectl creates it: the text as it is, unknown fields refused.
api::Request create_request(const Manifest& manifest);

// Applies the manifests to a cluster in virtual time that is thrown away, so that a refusal is the
// API's own, and looks for images without description. Errors are Reason::bad_input with file, line
// and field.
Status preflight(const Scenario& scenario);

// Whether every container can run in virtual time. The error, Reason::bad_input with file, line and
// field, says how to describe what a process alone could run.
Status check_modelled(const Scenario& scenario);

}  // namespace ddptwin::scenario
