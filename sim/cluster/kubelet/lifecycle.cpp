#include "cluster/kubelet/lifecycle.hpp"

namespace ddptwin::kubelet {

std::string_view to_string(PodStage stage) {
  constexpr std::array names{"fresh", "active", "ending", "ended", "finished"};
  return names[static_cast<std::size_t>(stage)];
}

std::string_view to_string(PodEvent event) {
  constexpr std::array names{"admitted", "rejected", "completed", "deleted",
                             "removed",  "evicted",  "stopped",   "cleaned"};
  return names[static_cast<std::size_t>(event)];
}

}  // namespace ddptwin::kubelet
