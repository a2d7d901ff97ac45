// A container's own view of files. Everything here runs in the container's first process, in a
// mount namespace of its own, so that all of it ends with the container.
#pragma once

#include <string>
#include <vector>

#include "runtime/process/supervisor/layers.hpp"

namespace ddptwin::sandbox {

// Mount::source is absolute in the supervisor's mount namespace already.
struct RootConfig {
  const Stack* stack = nullptr;
  std::vector<std::string> visible;
  std::vector<Mount> mounts;
  std::string cwd;
  std::uint64_t shm_size = 0;
  bool read_only = false;
};

// Builds the root, makes it this process's, and drops the supervisor's own tree.
Status enter_root(const RootConfig& config);

}  // namespace ddptwin::sandbox
