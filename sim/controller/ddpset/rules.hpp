// Every rule of the platform by name, with its source.
#pragma once

#include <array>
#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::ddpset::rules {

// All that is put into containers, in this order, before the user's own (§4).
inline constexpr std::array variables{
    VariableRow{"POD_NAME", "the pod's own name"},
    VariableRow{"SVC_NAME", "the headless Service"},
    VariableRow{"POD_NUMS", "spec.replicas when the template was rendered"},
    VariableRow{"POD_PORT", "spec.port"},
    VariableRow{"POD_NAMESPACE", "the pod's namespace"},
};

inline constexpr Rule set_is_gone{"set_is_gone", "spec/statefulset-platform.md §3"};
inline constexpr Rule set_is_being_deleted{"set_is_being_deleted",
                                           "spec/statefulset-platform.md §3"};
inline constexpr Rule name_is_taken{"name_is_taken", "spec/statefulset-platform.md §3"};
inline constexpr Rule create_service{"create_service", "spec/statefulset-platform.md §3"};
inline constexpr Rule render_service{"render_service", "spec/statefulset-platform.md §3"};
inline constexpr Rule create_statefulset{"create_statefulset", "spec/statefulset-platform.md §3",
                                         variables};
inline constexpr Rule render_statefulset{"render_statefulset",
                                         "spec/statefulset-platform.md §10 G4", variables};
inline constexpr Rule write_status{"write_status", "spec/statefulset-platform.md §2"};

// In their order in this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::ddpset::rules
