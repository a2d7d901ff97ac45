// Objects as a server showed them (`kubectl get -o yaml`): what only it writes is taken out, so
// that they can be made again.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace ddptwin::scenario {

// Whether a server had this object.
bool is_exported(const boost::json::value& object);

// Takes out what the server and the controllers wrote; says which fields, as they stood there:
// metadata.uid, spec.nodeName. Precondition: is_exported(object).
std::vector<std::string> clear_exported(boost::json::value& object);

}  // namespace ddptwin::scenario
