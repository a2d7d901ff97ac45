// What a PodGroup asks for (spec/pytorchjob.md §3.4).
#pragma once

#include <string>
#include <vector>

#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

// What the first `members` pods request, the types taken in `order`; a container without requests
// counts by its limits, init containers do not count.
ResourceList min_resources(const PyTorchJob& job, int members,
                           const std::vector<std::string>& order);

}  // namespace ddptwin::controller::pytorchjob
