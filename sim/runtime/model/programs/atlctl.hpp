// AIStudio's `atlctl` as a model. `check` looks at the same items on the model's network, devices
// and files (atl_check.hpp); the rest is atl_debug.hpp's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

std::unique_ptr<Program> make_atlctl(const std::vector<std::string>& argv);

}  // namespace ddptwin::model
