// How an image and a container's configuration make a program's start: the rules that every runtime
// of containers shares.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/images/image.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin {

// A command replaces entrypoint and cmd, args alone replace cmd (spec/kubernetes.md §2.9).
std::vector<std::string> command_line(const Image& image, const std::vector<std::string>& command,
                                      const std::vector<std::string>& args);

// The image's variables, HOSTNAME, then those of the pod, which win; HOME if nobody set it. The
// names of `own` are unique.
std::vector<std::pair<std::string, std::string>> container_environment(
    const Image& image, const std::string& hostname,
    std::vector<std::pair<std::string, std::string>> own);

// "SIGINT" or "INT"; SIGTERM for what is empty or unknown.
int stop_signal_number(std::string_view name);

// Whether the CRI's namespace options ask for one PID namespace per pod: `pid` is POD, which is 0
// and therefore left out of the JSON.
bool shares_processes(const RawJson& linux_config);

// 64 hexadecimal digits, as containerd names what it makes; another for each number.
std::string hex_name(std::string_view of, std::uint64_t number);
// Of an image by its canonical name (objects/image_reference.hpp).
ImageStatus image_status(const std::string& canonical);

// What containerd says of an image that no registry has, and of a container that it does not know.
Error image_not_found(const std::string& canonical);
Error no_such_container(const ContainerId& id);
// Of a container whose program cannot be started: exit code 128, started at the epoch
// (spec/kubernetes.md §2.3).
void start_failed(ContainerReport& report, std::string message, Time now);
// What a status has room for of a termination log.
std::string termination_text(std::string_view bytes);

}  // namespace ddptwin
