// The scripted kubelet of the recordings: it plays a pod's life by writing statuses
// (tests/recordings/README.md, "The scripted kubelet's statuses").
#pragma once

#include <optional>
#include <string>

#include "objects/core_v1.hpp"

namespace ddptwin::golden {

struct Ending {
  std::int32_t code = 0;
  std::string container{};  // empty: all
  std::string reason{};     // empty: Completed for 0, else Error
  std::string message{};
  std::int32_t signal = 0;
};

// Each gives the status that the pod has next.
PodStatus running_status(const Pod& pod, Time now, const std::string& ip, bool ready);
PodStatus creating_status(const Pod& pod, Time now);
PodStatus ended_status(const Pod& pod, Time now, const Ending& ending);
// A container restarts in place, or waits in CrashLoopBackOff before it does.
PodStatus restarted_status(const Pod& pod, Time now, const Ending& ending, bool crash_loop);
PodStatus disrupted_status(const Pod& pod, Time now, const std::string& reason,
                           const std::string& message);

}  // namespace ddptwin::golden
