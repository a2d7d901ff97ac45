// The `faults` of a scenario: YAML to values, with the place of every mistake.
#pragma once

#include "scenario/fields.hpp"

namespace ddptwin::scenario {

struct Fault;
struct FaultRow;
struct ParseContext;

Result<Fault> parse_fault(const Node& node, const ParseContext& context);
// "api-conflict", a port ("api"), or several of them with commas: the kinds in the order of the
// reference. An error names what is near.
Result<std::vector<const FaultRow*>> parse_fault_kinds(std::string_view list);

// How a fault is written, and every kind there is.
std::vector<ReferenceTable> fault_tables();

}  // namespace ddptwin::scenario
