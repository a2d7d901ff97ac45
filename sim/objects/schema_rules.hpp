// The rules in CEL of the definitions that the twin knows, each with what it asks in C++
// (spec/trainjob.md §1): a row is the rule's text and a predicate of the value that it stands at.
#pragma once

#include <boost/json/fwd.hpp>
#include <string_view>

namespace ddptwin {

using RuleHolds = bool (*)(const boost::json::value& self);

// By the text of the rule as definitions have it; null: none such is known.
RuleHolds find_rule(std::string_view text);

}  // namespace ddptwin
