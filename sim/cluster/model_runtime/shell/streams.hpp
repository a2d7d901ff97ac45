// Where what a shell and its commands print goes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/model_runtime/program.hpp"
#include "cluster/model_runtime/shell/tokens.hpp"

namespace ddptwin::model::shell {

using Streams = std::pair<Spawn::Stream, Spawn::Stream>;  // stdout and stderr
Streams streams_of(const Process& process);
void set_streams(Process& process, const Streams& streams);

// An absolute path; emptied, or only made where there is no such file. False: it cannot be.
bool open_file(Process& process, const std::string& file, bool appends);

// Changes the process's streams, one redirection after the other. An error is what the shell says
// of the first that cannot be done.
Status redirect(Process& process, const std::vector<Redirection>& redirections,
                Variables& variables);

}  // namespace ddptwin::model::shell
