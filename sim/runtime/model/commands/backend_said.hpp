// Which backend a rank's own words name, for the model of a script that says none.
#pragma once

#include "runtime/model/backend.hpp"
#include "runtime/model/program.hpp"

namespace ddptwin::model {

// By its arguments, and its program's text where that lies in a volume or was written. What stands
// in for a script that nobody described trains on the CPU where there is no GPU, so that it trains.
Backend backend_said(const Process& process, bool stands_in);

}  // namespace ddptwin::model
