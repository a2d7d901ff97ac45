#pragma once

#include <boost/json/fwd.hpp>
#include <functional>
#include <string>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// A place in a manifest; `path` as messages name it (`spec.template.spec`).
struct Place {
  const boost::json::value* value = nullptr;
  std::string path{};
};

// Visits every mapping of a manifest at any depth, and so any kind of workload: outer ones first,
// in the manifest's order. What `visit` returns false of is not entered.
void walk(const Manifest& manifest, const std::function<bool(const Place&)>& visit);

}  // namespace ddptwin::scenario
