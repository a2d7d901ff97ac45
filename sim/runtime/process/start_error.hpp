// What runc and Go's os/exec say of a program that cannot be started; a user of Kubernetes finds it
// in the pod's status.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ddptwin {

inline constexpr std::string_view not_in_path = "executable file not found in $PATH";

inline std::string cannot_execute(std::string_view name, std::string_view why) {
  return fmt::format(
      "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
      "runc create failed: unable to start container process: exec: \"{}\": {}: unknown",
      name, why);
}

}  // namespace ddptwin
