// The `faults` of a scenario: YAML to values, with the place of every mistake.
#pragma once

#include "scenario/language/fields.hpp"

namespace ddptwin::scenario {

struct Fault;
struct FaultRow;
struct ParseContext;
struct Scenario;

// Several, where `of` is a list.
Result<std::vector<Fault>> parse_fault(const YamlNode& node, const ParseContext& context);
Status read_faults(const YamlNode& list, std::vector<Fault>& to, const ParseContext& context);
// What of the faults does not fit the whole: some act in virtual time only, and all on nodes that
// there are. A scenario with faults and without modes is virtual first.
Status check_faults(Scenario& scenario);
// "api-conflict", a port ("api"), or several of them with commas: the kinds in the order of the
// reference. An error names what is near.
Result<std::vector<const FaultRow*>> parse_fault_kinds(std::string_view list);

// How a fault is written, and every kind there is.
std::vector<ReferenceTable> fault_tables();

}  // namespace ddptwin::scenario
