// Every rule of the Job controllers by name, with its source.
#pragma once

#include <array>
#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::job::rules {

inline constexpr Rule job_is_gone{"job_is_gone", "spec/trainjob.md §6.3 step 1"};
inline constexpr Rule managed_elsewhere{"managed_elsewhere", "spec/trainjob.md §6.3 step 1"};
inline constexpr Rule job_is_finished{"job_is_finished", "spec/trainjob.md §6.3 step 1"};
inline constexpr Rule expectations_unmet{"expectations_unmet", "spec/trainjob.md §6.3 step 6"};
inline constexpr Rule adopt_pod{"adopt_pod", "spec/trainjob.md §6.2"};
inline constexpr Rule release_pod{"release_pod", "spec/trainjob.md §6.7"};
inline constexpr Rule fail_by_policy{"fail_by_policy", "spec/trainjob.md §6.6"};
inline constexpr Rule backoff_limit_reached{"backoff_limit_reached", "spec/trainjob.md §6.4"};
inline constexpr Rule deadline_reached{"deadline_reached", "spec/trainjob.md §6.3 step 5"};
inline constexpr Rule too_many_failed_indexes{"too_many_failed_indexes",
                                              "spec/trainjob.md §6.3 step 5"};
inline constexpr Rule failed_indexes{"failed_indexes", "spec/trainjob.md §6.3 step 5"};
inline constexpr Rule success_by_policy{"success_by_policy", "spec/trainjob.md §6.6"};
inline constexpr Rule completions_reached{"completions_reached", "spec/trainjob.md §6.3 step 6"};
inline constexpr Rule suspend{"suspend", "spec/trainjob.md §6.7"};
inline constexpr Rule resume{"resume", "spec/trainjob.md §6.7"};
inline constexpr Rule delete_pod{"delete_pod", "spec/trainjob.md §6.5"};
inline constexpr std::array variables{
    VariableRow{"JOB_COMPLETION_INDEX", "the pod's index (spec/trainjob.md §6.5)"}};
inline constexpr Rule create_pod{"create_pod", "spec/trainjob.md §6.5", variables};
inline constexpr Rule await_back_off{"await_back_off", "spec/trainjob.md §6.5"};
inline constexpr Rule count_pods{"count_pods", "spec/trainjob.md §6.3 step 7"};
inline constexpr Rule release_counted_pod{"release_counted_pod", "spec/trainjob.md §6.3 step 7"};
inline constexpr Rule write_status{"write_status", "spec/trainjob.md §6.3 steps 7 and 8"};
inline constexpr Rule finish{"finish", "spec/trainjob.md §6.3 step 8"};
inline constexpr Rule release_orphan_pod{"release_orphan_pod", "spec/trainjob.md §6.7"};
inline constexpr Rule ttl_is_over{"ttl_is_over", "spec/trainjob.md §6.7"};
inline constexpr Rule await_ttl{"await_ttl", "spec/trainjob.md §6.7"};

// In their order in this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::job::rules
