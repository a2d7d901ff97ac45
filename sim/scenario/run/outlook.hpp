// What is known of containers before a virtual run, from the images' descriptions and their command
// lines.
#pragma once

#include <string>
#include <vector>

#include "runtime/model/commands.hpp"
#include "scenario/run/images.hpp"

namespace ddptwin::scenario {

// Error::where: the variable that is at fault, where one is. `files`: of its volumes, as far as
// they are known.
Result<model::Outlook> outlook_of(const NamedImage& image, const ImageUse& use,
                                  model::FilesByPath files = {});
// The command line, variables that somebody else gives apart.
std::vector<std::string> command_line_of(const NamedImage& image, const ImageUse& use);
// `a`, `b`
std::string each_quoted(std::vector<std::string> commands);

// Of a described image whose start script does more than what the description is of: which commands
// are that, and which are done at once. Else empty.
std::string told_of_script(const std::vector<NamedImage>& images, const ImageUse& use);

}  // namespace ddptwin::scenario
