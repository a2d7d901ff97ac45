// Every rule of the JobSet controller by name, with its source.
#pragma once

#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::jobset::rules {

inline constexpr Rule set_is_gone{"set_is_gone", "spec/trainjob.md §5.2 step 1"};
inline constexpr Rule set_is_being_deleted{"set_is_being_deleted", "spec/trainjob.md §5.2 step 1"};
inline constexpr Rule managed_elsewhere{"managed_elsewhere", "spec/trainjob.md §5.2 step 1"};
inline constexpr Rule label_is_no_number{"label_is_no_number", "spec/trainjob.md §5.2 step 2"};
inline constexpr Rule delete_after_end{"delete_after_end", "spec/trainjob.md §5.2 step 4"};
inline constexpr Rule ttl_is_over{"ttl_is_over", "spec/trainjob.md §5.8"};
inline constexpr Rule await_ttl{"await_ttl", "spec/trainjob.md §5.8"};
inline constexpr Rule delete_previous{"delete_previous", "spec/trainjob.md §5.2 step 5"};
inline constexpr Rule all_are_ready{"all_are_ready", "spec/trainjob.md §5.2 step 6"};
inline constexpr Rule fail_without_policy{"fail_without_policy", "spec/trainjob.md §5.4"};
inline constexpr Rule fail_by_policy{"fail_by_policy", "spec/trainjob.md §5.4"};
inline constexpr Rule max_restarts_reached{"max_restarts_reached", "spec/trainjob.md §5.4"};
inline constexpr Rule restart_all{"restart_all", "spec/trainjob.md §5.4"};
inline constexpr Rule restart_all_uncounted{"restart_all_uncounted", "spec/trainjob.md §5.4"};
inline constexpr Rule restart_job{"restart_job", "spec/trainjob.md §5.4"};
inline constexpr Rule restart_job_uncounted{"restart_job_uncounted", "spec/trainjob.md §5.4"};
inline constexpr Rule action_is_gated{"action_is_gated", "spec/trainjob.md §5.4"};
inline constexpr Rule success_policy_met{"success_policy_met", "spec/trainjob.md §5.5"};
inline constexpr Rule create_service{"create_service", "spec/trainjob.md §5.7"};
inline constexpr Rule create_claim{"create_claim", "spec/trainjob.md §5.2 step 10"};
inline constexpr Rule scale_job{"scale_job", "spec/trainjob.md §5.2 step 11"};
inline constexpr Rule await_dependency{"await_dependency", "spec/trainjob.md §5.6"};
inline constexpr Rule await_previous{"await_previous", "spec/trainjob.md §5.4, BlockingRecreate"};
inline constexpr Rule create_job{"create_job", "spec/trainjob.md §5.6"};
inline constexpr Rule await_order{"await_order", "spec/trainjob.md §5.6"};
inline constexpr Rule order_is_done{"order_is_done", "spec/trainjob.md §5.6"};
inline constexpr Rule suspend_job{"suspend_job", "spec/trainjob.md §5.6"};
inline constexpr Rule forget_start{"forget_start", "spec/trainjob.md §5.6"};
inline constexpr Rule resume_job{"resume_job", "spec/trainjob.md §5.6"};
inline constexpr Rule write_status{"write_status", "spec/trainjob.md §5.2"};
inline constexpr Rule tell{"tell", "spec/trainjob.md §5.11"};

// In their order in this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::jobset::rules
