// Where what a shell and its commands print goes, and what they read.
#pragma once

#include <memory>
#include <string>

#include "runtime/model/program.hpp"
#include "runtime/model/shell/tokens.hpp"

namespace ddptwin::model::shell {

struct Streams {
  Spawn::Stream output{}, error_output{};
  std::shared_ptr<Input> input{};
};
Streams streams_of(const Process& process);
void set_streams(Process& process, const Streams& streams);

// An absolute path; emptied, or only made where there is no such file. False: it cannot be.
bool open_file(Process& process, const std::string& file, bool appends);

// One end of a pipe, and the other.
struct PipeEnds {
  std::shared_ptr<Input> input{};
  Spawn::Stream output{};
};
PipeEnds make_pipe();

// With those files besides.
Spawn::Stream copied_to(Spawn::Stream stream, const std::vector<std::string>& files);

// Changes the process's streams; not of Target::command, which has to be begun. An error is what
// the shell says, `code` bash's status where it is not the one of any error.
Status redirect(Process& process, const Redirection& redirection, Variables& variables);

}  // namespace ddptwin::model::shell
