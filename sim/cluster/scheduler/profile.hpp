// What tells one scheduler process from another: whose pods it takes, and which plugins it has
// beside the default ones.
#pragma once

#include <optional>
#include <string_view>

#include "core/time.hpp"

namespace ddptwin {

// Arguments of the plugin Coscheduling (scheduler-plugins, apis/config/v1/defaults.go).
struct CoschedulingArgs {
  // So long a pod of a gang waits for the others, where its PodGroup does not say it.
  Duration permit_wait = std::chrono::seconds(60);
  // So long nobody of a group is tried after it was rejected; zero: at once, when something helps.
  Duration backoff{};
  // Where no larger part of the gang is without a place, who waits is not rejected.
  int reject_percentage = 10;
};

struct SchedulerProfile {
  // spec.schedulerName of its pods, and who its events and records are by. A literal.
  std::string_view name = "default-scheduler";
  std::optional<CoschedulingArgs> coscheduling{};
};

}  // namespace ddptwin
