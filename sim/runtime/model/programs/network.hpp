// The small programs that scripts wait for a master with: nslookup, getent, nc -z.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

std::unique_ptr<Program> make_nslookup(const std::vector<std::string>& argv);
// `getent hosts NAME`: 2 when there is no such name.
std::unique_ptr<Program> make_getent(const std::vector<std::string>& argv);
// `nc -z [-v] [-w SECONDS] HOST PORT`, openbsd's: whether somebody listens.
std::unique_ptr<Program> make_nc(const std::vector<std::string>& argv);

// What of such a command line is not modelled, "nc without -z"; empty: all is. "$" stands for any
// text.
std::string unknown_of_getent(const std::vector<std::string>& argv);
std::string unknown_of_nc(const std::vector<std::string>& argv);

}  // namespace ddptwin::model
