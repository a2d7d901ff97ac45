// The init container that makes a worker wait for the master's name (spec/pytorchjob.md §2.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

inline constexpr std::string_view init_container_name = "init-pytorch";

// The operator's flags --pytorch-init-container-image, --pytorch-init-container-max-tries and
// --pytorch-init-container-template-file.
struct InitContainerFlags {
  std::string image = "alpine:3.10";
  int max_tries = 100;
  // The text of the template file: a YAML list of containers with the placeholders
  // {{.MasterAddr}}, {{.InitContainerImage}}, {{.MaxTries}}. Absent: upstream's default.
  std::optional<std::string> template_text{};
};

// What is appended to the worker's own init containers; nothing for a Master or without one.
Result<std::vector<Container>> init_containers(const PyTorchJob& job, std::string_view type,
                                               const InitContainerFlags& flags);

}  // namespace ddptwin::controller::pytorchjob
