// `atlctl agent` and what is asked of it (atl_agent.hpp) as models.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

std::unique_ptr<Program> make_atl_agent(const std::vector<std::string>& argv);
std::unique_ptr<Program> make_atl_client(const std::vector<std::string>& argv);
// Says that on stderr, and ends with 2.
std::unique_ptr<Program> make_refusal(std::string text);

}  // namespace ddptwin::model
