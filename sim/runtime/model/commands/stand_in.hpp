// What stands in for a container's command that nobody described (Workload::stands_in): a rank of
// a training, under torchrun where the command is a launcher, or what only serves one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/commands.hpp"
#include "runtime/model/torchrun/torchrun.hpp"

namespace ddptwin::model {

// A command that starts ranks, in torchrun's own words: torchrun and its modules as they are,
// `accelerate launch`, `deepspeed` and `tune run` as far as they say how many and where. Nothing
// for other commands.
std::optional<torchrun::Launch> stand_in_launch(const std::vector<std::string>& argv);

using Variable = std::function<std::string_view(const char*)>;

// Whether a command that names no launcher is left to torchrun, by the operator's variables
// (spec/pytorchjob.md §2.3): they count several ranks in a pod, or it is an elastic job, in which
// nobody but torchrun knows who is which. `auto`, `cpu` and `gpu` are counted as one.
bool needs_torchrun(const Variable& variable);

// What the start script of a StatefulSet's platform makes of its variables (spec/
// statefulset-platform.md §5): RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. Empty where there is a
// rank already, or one of its variables is missing.
Environment group_by_start_script(const Variable& variable);

// What a launcher script of the user's would call: torchrun [--no-python] COMMAND.
torchrun::Launch launch_in_place_of(const std::vector<std::string>& argv);

// How a shell would run the script in a file, `sh FILE ARGUMENTS` or one that begins with #!:
// `sh -c SCRIPT FILE ARGUMENTS`. Nothing where the command is no such thing, or `read` finds no
// file.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::vector<std::string>> as_script(const std::vector<std::string>& argv,
                                                  const ReadText& read);

// Ends, well, when it is told to.
std::unique_ptr<Program> make_stay();
// The program with these variables besides.
std::unique_ptr<Program> make_with(Environment variables, std::unique_ptr<Program> program);

}  // namespace ddptwin::model
