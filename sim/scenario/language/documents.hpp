// From the documents of a file to the objects that are applied, as kubectl takes them: lists are
// their items, the last of two equal keys holds, kinds that a run does not need are set aside, what
// a server wrote into an object is no part of it, and what a controller made is left to it.
#pragma once

#include <memory>
#include <vector>

#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {

using Documents = std::vector<std::shared_ptr<const YamlDocument>>;

// A text that is not YAML is told what may be wrong with it (cures.hpp).
Result<Documents> parse_documents(const std::string& text, const std::string& path);

// A note in the context's Side of each thing that is taken otherwise than it is written.
Result<std::vector<Manifest>> take_objects(const Documents& documents, const ParseContext& context);

}  // namespace ddptwin::scenario
