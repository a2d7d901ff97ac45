// Values as `kubectl get -o yaml` writes them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace ddptwin::scenario {

// A document in blocks: one member or element a line, texts of several lines as they are (|).
// Members keep their order. Read back by parse_yaml it gives the same value.
std::string object_yaml(const boost::json::value& value);

}  // namespace ddptwin::scenario
