// Go's texts of objects, as upstream's messages show them.
#pragma once

#include <string>

#include "objects/pod_spec.hpp"

namespace ddptwin::controller {

// %+v of a pointer to it.
std::string go_text(const LabelSelector& selector);

}  // namespace ddptwin::controller
