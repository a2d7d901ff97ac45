// Every rule of Volcano's PodGroup controller by name, with its source.
#pragma once

#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::volcano::rules {

inline constexpr std::string_view upstream = "volcano-sh/volcano, pkg/controllers/podgroup";
inline constexpr Rule pod_is_gone{"pod_is_gone", upstream};
inline constexpr Rule pod_has_group{"pod_has_group", upstream};
inline constexpr Rule create_group_of_pod{"create_group_of_pod", upstream};
inline constexpr Rule name_group_on_pod{"name_group_on_pod", upstream};

std::span<const Rule* const> all();

}  // namespace ddptwin::controller::volcano::rules
