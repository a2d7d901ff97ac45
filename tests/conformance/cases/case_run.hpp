// One case of the table: a scenario run in virtual time, and what else the case says of the run.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>

namespace ddptwin::conformance {

struct CaseTables {
  boost::json::object base;  // `base` of the table: the scenario's spec where a case says no other
  std::string folder;        // that paths are beside
};

// Nothing: it holds. Else what does not.
std::optional<std::string> run_case(const boost::json::object& description,
                                    const CaseTables& tables);

}  // namespace ddptwin::conformance
