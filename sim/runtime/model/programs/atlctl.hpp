// `atlctl check` of AIStudio as a model: the same items on the model's network, devices and files
// (atl_check.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

std::unique_ptr<Program> make_atlctl(const std::vector<std::string>& argv);
// What of it the model does not know; empty: all is known.
std::string unknown_of_atlctl(const std::vector<std::string>& argv);

}  // namespace ddptwin::model
