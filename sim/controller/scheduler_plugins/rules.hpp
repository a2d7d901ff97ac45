// Every rule of the controller of scheduler-plugins by name, with its source.
#pragma once

#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::scheduler_plugins::rules {

inline constexpr std::string_view upstream =
    "scheduler-plugins v0.34, pkg/controllers/podgroup_controller.go";
inline constexpr Rule group_is_gone{"group_is_gone", upstream};
inline constexpr Rule group_has_ended{"group_has_ended", upstream};
inline constexpr Rule write_group_status{"write_group_status", upstream};

std::span<const Rule* const> all();

}  // namespace ddptwin::controller::scheduler_plugins::rules
