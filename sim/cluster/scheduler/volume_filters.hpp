// The rows about volumes in the table of filters (spec/kubernetes.md §3.7).
#pragma once

#include "cluster/scheduler/filters.hpp"

namespace ddptwin::scheduler {

// Another pod has a claim that one pod alone may use (ReadWriteOncePod).
Refuse refuse_exclusive;
MayHelp exclusive_may_help;
// The node lacks volumes that the pod's claims have, or could have.
Refuse refuse_volumes;
MayHelp volumes_may_help;

}  // namespace ddptwin::scheduler
