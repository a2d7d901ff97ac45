// What a pod's phase says of its future.
#pragma once

#include <string_view>

namespace ddptwin {

// No container of it runs or will run again; a phase that no pod leaves (spec/kubernetes.md §2.2).
constexpr bool is_terminal_phase(std::string_view phase) {
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace ddptwin
