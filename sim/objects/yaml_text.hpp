// A JSON value as YAML text, as sigs.k8s.io/yaml writes it: maps in the order of their keys, lists
// at the column of their map (spec/trainjob.md §2.2).
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace ddptwin {

// Ends with a line break. Long lines are not folded.
std::string to_yaml_text(const boost::json::value& value);

}  // namespace ddptwin
