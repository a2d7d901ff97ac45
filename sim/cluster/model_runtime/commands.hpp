// Which commands can be modelled, and as which program: one table. What only a process could run is
// refused with a sentence that says how to describe it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/model_runtime/program.hpp"
#include "cluster/model_runtime/workload.hpp"
#include "cluster/process_runtime/image.hpp"
#include "core/result.hpp"

namespace ddptwin::model {

struct CommandContext {
  const Image* image = nullptr;
  const Workload* workload = nullptr;  // what the user said of the image's script; null: nothing
  bool is_child = false;  // of a launcher or a shell: workload->torchrun has been obeyed already
};

// The error of a command that the image does not have is Reason::not_found, its message that of
// exec: "executable file not found in $PATH". Reason::bad_input: only a process can run it.
Result<std::unique_ptr<Program>> make_program(const std::vector<std::string>& argv,
                                              const CommandContext& context);

// Whether a container of this image with this command line can be modelled. A command that the
// image does not have can: it fails as it would in a cluster.
Status can_model(const std::vector<std::string>& argv, const Image& image,
                 const Workload* workload);

// The same for a command beside a container's own processes, a probe or a hook: what the user said
// of the image's script says nothing of it.
Result<std::unique_ptr<Program>> make_exec(const std::vector<std::string>& argv,
                                           const Image& image);
Status can_model_exec(const std::vector<std::string>& argv, const Image& image);

// The file's name of a path: "python3" of "/usr/bin/python3".
std::string base_name(const std::string& path);

}  // namespace ddptwin::model
