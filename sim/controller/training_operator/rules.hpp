// Every rule of the controller by name, with its source. A step of a plan carries the rule that
// asked for it into the trace; a test fails when one is never taken.
#pragma once

#include <array>
#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::pytorchjob::rules {

inline constexpr Rule job_is_gone{"job_is_gone", "spec/pytorchjob.md §4.2 step 1"};
inline constexpr Rule invalid_job{"invalid_job", "spec/pytorchjob.md §1.4, §4.2 step 2 (V7)"};
inline constexpr Rule managed_elsewhere{"managed_elsewhere",
                                        "spec/pytorchjob.md §4.2 step 2 (≥V9)"};
inline constexpr Rule expectations_unmet{"expectations_unmet",
                                         "spec/pytorchjob.md §4.2 step 3, Q13"};
inline constexpr Rule job_is_being_deleted{"job_is_being_deleted",
                                           "spec/pytorchjob.md §4.2 step 3"};
inline constexpr Rule programming_error{"programming_error", "spec/pytorchjob.md Q12"};

inline constexpr Rule create_autoscaler{"create_autoscaler", "spec/pytorchjob.md §3.5"};
inline constexpr Rule update_autoscaler{"update_autoscaler", "spec/pytorchjob.md §3.5"};
inline constexpr Rule delete_autoscaler{"delete_autoscaler", "spec/pytorchjob.md §3.5"};

inline constexpr Rule reset_expectations{"reset_expectations", "spec/pytorchjob.md §4.2 M1"};
inline constexpr Rule clean_up{"clean_up", "spec/pytorchjob.md §4.7"};
inline constexpr Rule settle_counters{"settle_counters", "spec/pytorchjob.md §4.2 M4, Q25"};
inline constexpr Rule suspend{"suspend", "spec/pytorchjob.md §4.5"};
inline constexpr Rule resume{"resume", "spec/pytorchjob.md §4.2 M6"};
inline constexpr Rule abnormal_pod{"abnormal_pod", "spec/pytorchjob.md §4.2 M7, §5.4"};
inline constexpr Rule backoff_limit_reached{"backoff_limit_reached", "spec/pytorchjob.md §4.6"};
inline constexpr Rule deadline_reached{"deadline_reached", "spec/pytorchjob.md §4.6"};

inline constexpr Rule create_pod_group{"create_pod_group", "spec/pytorchjob.md §3.4"};
inline constexpr Rule update_pod_group{"update_pod_group", "spec/pytorchjob.md §3.4, Q27"};
inline constexpr Rule delete_pod_group{"delete_pod_group", "spec/pytorchjob.md §4.7"};
inline constexpr Rule await_pod_group{"await_pod_group", "spec/pytorchjob.md §4.2 M9"};

// What environment.hpp puts into the containers of a replica (spec/pytorchjob.md §2).
inline constexpr std::array variables{
    VariableRow{"PYTHONUNBUFFERED", "every replica (spec/pytorchjob.md §2.2)"},
    VariableRow{"MASTER_PORT", "the job has a Master (spec/pytorchjob.md §2.2)"},
    VariableRow{"PET_MASTER_PORT", "the job has a Master (spec/pytorchjob.md §2.2)"},
    VariableRow{"MASTER_ADDR", "the job has a Master (spec/pytorchjob.md §2.2)"},
    VariableRow{"PET_MASTER_ADDR", "the job has a Master (spec/pytorchjob.md §2.2)"},
    VariableRow{"WORLD_SIZE", "the job has a Master (spec/pytorchjob.md §2.2)"},
    VariableRow{"RANK", "the job has a Master (spec/pytorchjob.md §2.2)"},
    VariableRow{"PET_NODE_RANK", "the job has a Master (spec/pytorchjob.md §2.2)"},
    VariableRow{"PET_NPROC_PER_NODE",
                "nprocPerNode, or elasticPolicy's (spec/pytorchjob.md §2.2, §2.3)"},
    VariableRow{"PET_NNODES",
                "all replicas, or elasticPolicy's bounds (spec/pytorchjob.md §2.2, §2.3)"},
    VariableRow{"PET_RDZV_ENDPOINT", "the job is elastic (spec/pytorchjob.md §2.3)"},
    VariableRow{"PET_RDZV_BACKEND", "the job is elastic (spec/pytorchjob.md §2.3)"},
    VariableRow{"PET_MAX_RESTARTS", "set in elasticPolicy (spec/pytorchjob.md §2.3)"},
    VariableRow{"PET_RDZV_ID", "set in elasticPolicy (spec/pytorchjob.md §2.3)"},
    VariableRow{"PET_RDZV_CONF", "set in elasticPolicy (spec/pytorchjob.md §2.3)"},
    VariableRow{"PET_STANDALONE", "set in elasticPolicy (spec/pytorchjob.md §2.3)"},
};
inline constexpr Rule create_missing_pod{"create_missing_pod", "spec/pytorchjob.md §4.3",
                                         variables};
inline constexpr Rule overwrite_restart_policy{"overwrite_restart_policy",
                                               "spec/pytorchjob.md §3.1"};
inline constexpr Rule foreign_scheduler{"foreign_scheduler", "spec/pytorchjob.md §3.4"};
inline constexpr Rule several_pods_at_index{"several_pods_at_index", "spec/pytorchjob.md §4.3"};
inline constexpr Rule scale_down_pod{"scale_down_pod", "spec/pytorchjob.md §4.3.1"};
inline constexpr Rule report_exit_code{"report_exit_code", "spec/pytorchjob.md §4.3.2, Q34"};
inline constexpr Rule replace_failed_pod{"replace_failed_pod", "spec/pytorchjob.md §4.3.3"};
inline constexpr Rule permanent_exit_code{"permanent_exit_code", "spec/pytorchjob.md §4.3.3 (≥V8)"};
inline constexpr Rule create_missing_service{"create_missing_service", "spec/pytorchjob.md §4.4"};
inline constexpr Rule scale_down_service{"scale_down_service", "spec/pytorchjob.md §4.4"};

inline constexpr Rule started{"started", "spec/pytorchjob.md §4.9"};
inline constexpr Rule master_is_running{"master_is_running", "spec/pytorchjob.md §4.9"};
inline constexpr Rule master_succeeded{"master_succeeded", "spec/pytorchjob.md §4.9"};
inline constexpr Rule workers_are_running{"workers_are_running", "spec/pytorchjob.md §4.9"};
inline constexpr Rule workers_succeeded{"workers_succeeded", "spec/pytorchjob.md §4.9"};
inline constexpr Rule replicas_restart{"replicas_restart", "spec/pytorchjob.md §4.9"};
inline constexpr Rule replicas_failed{"replicas_failed", "spec/pytorchjob.md §4.9"};
inline constexpr Rule write_status{"write_status", "spec/pytorchjob.md §4.2 M12"};

inline constexpr Rule ttl_is_over{"ttl_is_over", "spec/pytorchjob.md §4.8"};
inline constexpr Rule ttl_without_end{"ttl_without_end", "spec/pytorchjob.md §4.8, Q3, Q16"};
inline constexpr Rule await_ttl{"await_ttl", "spec/pytorchjob.md §4.2 step 7"};

// In the order of this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::pytorchjob::rules
