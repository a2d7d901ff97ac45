// Which commands can be modelled, and as which program: one table. What only a process could run is
// refused with a sentence that says how to describe it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "objects/type.hpp"
#include "runtime/images/image.hpp"
#include "runtime/model/program.hpp"
#include "runtime/model/workload.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::model {

// How much a command of a described image's script looks like the training: of a script's commands
// those that look most like it are, and all others prepare it.
enum class Likeness : std::uint8_t {
  any,     // whatever else is not known
  script,  // python3 FILE, python3 -m MODULE
  launch,  // torchrun, accelerate, deepspeed, mpirun
};
Likeness likeness_of(const std::vector<std::string>& argv);
// One that a script's training needs, whatever else the script does: pip, git, cp, ...
bool only_prepares(const std::vector<std::string>& argv);

// A command behind what only hands on to it (env, nice, tini, uv run, ...), and the variables that
// it is given. The same command: nothing does.
struct Inner {
  std::vector<std::string> argv{};
  Environment variables{};
};
Inner within(const std::vector<std::string>& argv);

// Who takes what a command of a script prints.
enum class Taker : std::uint8_t {
  nobody,    // or a file
  document,  // a $( ) of one, << or <<<, in which `NAME` may be prose
  pipe,      // a program that goes by it
  script,    // $( )
};

using FilesByPath = std::map<std::string, std::string, std::less<>>;

// What is known of a container before it runs, and what its commands would need.
struct Outlook {
  StringMap environment{};
  std::optional<Error> unmodelled{};   // the first of them that torchrun could not do
  std::vector<std::string> trains{};   // those of a described script that are what is described
  std::vector<std::string> at_once{};  // those that prepare it
  bool launches = false;               // by torchrun
  std::string_view wants{};            // what those that train want and this machine has not
  bool stays = false;                  // it ends with its pod only
  FilesByPath files{};                 // of its volumes, as far as they are known, by path
};

struct CommandContext {
  const Image* image = nullptr;
  const Workload* workload = nullptr;  // what the user said of the image's script; null: nothing
  bool is_child = false;               // of a launcher or a shell
  ContainerRole role = ContainerRole::training;  // of the container it runs in
  bool launched = false;              // by torchrun: workload->torchrun has been obeyed already
  Likeness training = Likeness::any;  // what the script's training looks like
  Taker taker = Taker::nobody;        // told before the run only
  Outlook* outlook = nullptr;         // null: it runs
  std::string folder{};               // in which it begins; empty: the image's
  // A user's own: who knows which programs it has beside the host's. Asked before the run only.
  bool has_more = false;
};

// The error of a command that the image does not have is Reason::not_found, its message that of
// exec: "executable file not found in $PATH". Reason::bad_input: only a process can run it.
Result<std::unique_ptr<Program>> make_program(const std::vector<std::string>& argv,
                                              const CommandContext& context);

// Whether a container of this image with this command line can be modelled. A command that the
// image does not have can: it fails as it would in a cluster. Of its variables only torchrun's are
// looked at; Error::where names the one that is at fault.
Result<Outlook> can_model(const std::vector<std::string>& argv, const Image& image,
                          const Workload* workload, const StringMap& environment = {});
// The same of a container of that role, with what is known of its variables and files.
Result<Outlook> can_model(const std::vector<std::string>& argv, CommandContext context,
                          Outlook known);

// Ends at once with that code.
std::unique_ptr<Program> make_exit(int code);
// What stands in for a command that nobody described (Workload::stands_in). It decides when it
// starts, by its variables and the files that are there. A script that is there runs. Else an init
// container's ends well, a sidecar's stays, and the training is a rank: under torchrun where it
// needs that, alone where the variables name no group.
std::unique_ptr<Program> make_stand_in(const std::vector<std::string>& argv,
                                       const CommandContext& context);

// Whether something stands in for the command, or for one of its script's, where the workload is
// nobody's description.
bool stands_in(const std::vector<std::string>& argv, const CommandContext& context);

// The same for a command beside a container's own processes, a probe or a hook: what the user said
// of the image's script says nothing of it.
Result<std::unique_ptr<Program>> make_exec(const std::vector<std::string>& argv,
                                           const Image& image);
Status can_model_exec(const std::vector<std::string>& argv, const Image& image);

// The file's name of a path: "python3" of "/usr/bin/python3".
std::string base_name(const std::string& path);

// Whether a command of that name would be found where the process is, modelled or not.
bool has_program(const std::string& name, const Process& process);
// Where; one with a slash is where it says.
std::string path_of_program(const std::string& name);

}  // namespace ddptwin::model
