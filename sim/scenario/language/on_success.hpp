// onSuccess of a scenario (spec/statefulset-platform.md §7): who restarts for ever trains for ever,
// unless somebody holds its containers or scales it to zero (run/scale_to_zero.hpp).
#pragma once

#include <optional>
#include <string_view>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// "restart", "hold", "scaleToZero"; nothing for other words.
std::optional<OnSuccess> on_success_of(std::string_view word);

// `hold`: the containers of every kind that stands for ever (systems/workloads.hpp) stay when their
// commands have ended well. Each command becomes an argument of a shell; where the manifest names
// none, it is that of the image's description, or of a built-in image. One that nobody knows is
// refused. What a shell then says is held_line (systems/ddpset_watch.hpp).
Status hold_containers(Scenario& scenario);

}  // namespace ddptwin::scenario
