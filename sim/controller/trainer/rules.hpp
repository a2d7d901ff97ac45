// Every rule of the TrainJob controller, by name (spec/trainjob.md §2, §7, §10.1).
#pragma once

#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::trainer::rules {

inline constexpr Rule job_is_gone{"job_is_gone", "spec/trainjob.md §2.1 step 1"};
inline constexpr Rule managed_elsewhere{"managed_elsewhere", "spec/trainjob.md §2.1 step 1"};
inline constexpr Rule runtime_is_unknown{"runtime_is_unknown", "spec/trainjob.md §2.1 step 3"};
inline constexpr Rule resources_failed{"resources_failed", "spec/trainjob.md §2.1 step 3"};
inline constexpr Rule take_snapshot{"take_snapshot", "spec/trainjob.md §2.2"};
inline constexpr Rule apply_secret{"apply_secret", "spec/trainjob.md §3.11"};
inline constexpr Rule apply_hostfile{"apply_hostfile", "spec/trainjob.md §3.11"};
inline constexpr Rule apply_pod_group{"apply_pod_group", "spec/trainjob.md §8"};
inline constexpr Rule make_jobset{"make_jobset", "spec/trainjob.md §2.6"};
inline constexpr Rule apply_jobset{"apply_jobset", "spec/trainjob.md §2.6"};
inline constexpr Rule await_jobset{"await_jobset", "spec/trainjob.md §7.3"};
inline constexpr Rule deadline_is_over{"deadline_is_over", "spec/trainjob.md §7.4"};
inline constexpr Rule await_deadline{"await_deadline", "spec/trainjob.md §7.4"};
inline constexpr Rule write_status{"write_status", "spec/trainjob.md §7"};

// In their order in this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::trainer::rules
