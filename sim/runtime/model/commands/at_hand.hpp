// Which commands of a container a real run can have as they are, and for which something stands in:
// by what lies on this machine, in the image's copies and in the container's volumes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/commands.hpp"

namespace ddptwin::model {

// What a container's commands find. Paths are absolute.
struct Surroundings {
  std::function<bool(const std::string& path)> has_file{};  // or a folder
  std::function<std::optional<std::string>(const std::string& path)> read{};
  std::string search_path{default_path};  // $PATH
  std::string folder = "/";               // the working directory
};

// The program's file; nothing: it is not here.
std::optional<std::string> program_file(const std::string& name, const Surroundings& around);

// What a Python program wants whatever the machine has: "NCCL", "a GPU". Its text names the backend
// or the device and asks nowhere whether there is such, nor names another. Empty: nothing.
std::string_view device_wanted_by(std::string_view program);

// Whether it trains with NCCL: it is told to, its program names that backend and no other, or it
// takes it where there is a GPU.
bool wants_nccl(const std::vector<std::string>& argv, const Surroundings& around, bool has_gpu);

// Whether it can run here: its program is here, so is the script that it names, which wants no GPU
// (no pod has one: /dev holds none), and it asks nobody outside the cluster (pods have no way out
// of the machine).
bool is_at_hand(const std::vector<std::string>& argv, const Surroundings& around);

// Whether it copies, moves, unpacks or the like what is not here: what something else, of a script
// that something stands in for, was to bring.
bool misses_files(const std::vector<std::string>& argv, const Surroundings& around);

// The simple commands of a script, in their order, those within $( ) too: their words without
// quotes, as far as they stand there. Not a parser: it finds names, and what does not matter for
// that may be wrong.
std::vector<std::vector<std::string>> commands_in(const std::string& script);

// What is not at hand of a container's command line: of a script each command, else the whole.
// Empty lists: all is, and it runs as it is.
Outlook absent_of(const std::vector<std::string>& argv, const Surroundings& around,
                  ContainerRole role);

// Of a script: what its training looks like.
Likeness likeness_in(const std::string& script);

}  // namespace ddptwin::model
