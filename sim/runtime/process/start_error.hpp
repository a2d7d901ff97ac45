// What runc and Go's os/exec say of a program that cannot be started; a user of Kubernetes finds it
// in the pod's status.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddptwin {

inline constexpr std::string_view not_in_path = "executable file not found in $PATH";

inline constexpr std::string_view cannot_start =
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
    "runc create failed: unable to start container process: ";

inline std::string cannot_execute(std::string_view name, std::string_view why) {
  return fmt::format("{}exec: \"{}\": {}: unknown", cannot_start, name, why);
}

// What runc itself needs before the program runs, in bytes: with a limit of 8Mi and less containers
// of clusters of today do not start, with 12Mi their programs are OOMKilled. Docker refuses less
// than 6 MiB (moby, linuxMinMemory).
inline constexpr std::int64_t start_memory = 8LL << 20U;

// The message of a container whose memory limit does not leave that; empty: it does.
inline std::string too_little_to_start(const std::optional<std::int64_t>& memory_limit) {
  if (!memory_limit || *memory_limit <= 0 || *memory_limit > start_memory) return {};
  return fmt::format("{}container init was OOM-killed (memory limit too low?): unknown",
                     cannot_start);
}

}  // namespace ddptwin
