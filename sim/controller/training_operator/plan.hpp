// What a reconcile of one PyTorchJob does: the page of decisions (spec/pytorchjob.md §4.2).
#pragma once

#include "controller/training_operator/pass.hpp"

namespace ddptwin::controller::pytorchjob {

// Pure. The order of the rules is the specification.
Plan plan(const View& seen, const Settings& settings, Time now);

// managedBy names somebody else; an empty text counts as somebody (C42).
bool is_managed_elsewhere(const RunPolicy& policy);

}  // namespace ddptwin::controller::pytorchjob
