// Faults, and whole documents, as YAML text.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "scenario/language/fault.hpp"

namespace ddptwin::scenario {

// {"api": "conflict", "of": "training-operator", "nth": 3}, in the order of the reference page.
boost::json::object to_json(const Fault& fault);
// The same on one line: {api: conflict, of: training-operator, nth: 3}.
std::string to_yaml(const Fault& fault);

// Any value as YAML: on one line, and as a document in blocks, whose members keep their order. Read
// back by parse_yaml they give the same value.
std::string flow_yaml(const boost::json::value& value);
std::string block_yaml(const boost::json::value& value);

}  // namespace ddptwin::scenario
