// Every rule of T9k's controllers by name, with its source.
#pragma once

#include <array>
#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::t9k::rules {

// That every container of a replica gets (spec/t9k.md §4.2).
inline constexpr std::array variables{
    VariableRow{"MASTER_ADDR", "the master's Service"},
    VariableRow{"MASTER_PORT", "the same in every replica"},
    VariableRow{"WORLD_SIZE", "replicas of all groups: pods, not processes"},
    VariableRow{"RANK", "replicas of earlier groups and the pod's own index"},
};

inline constexpr Rule job_is_gone{"job_is_gone", "spec/t9k.md §6"};
inline constexpr Rule job_is_being_deleted{"job_is_being_deleted", "spec/t9k.md §3"};
inline constexpr Rule await_own_write{"await_own_write", "spec/t9k.md §7"};
inline constexpr Rule expectations_unmet{"expectations_unmet", "spec/t9k.md §6"};
inline constexpr Rule create_service{"create_service", "spec/t9k.md §3"};
inline constexpr Rule create_pod_group{"create_pod_group", "spec/t9k.md §14"};
inline constexpr Rule create_tensorboard{"create_tensorboard", "spec/t9k.md §13"};
inline constexpr Rule elastic_ignored{"elastic_ignored", "spec/t9k.md §10"};
inline constexpr Rule created{"created", "spec/t9k.md §16"};
inline constexpr Rule initialized{"initialized", "spec/t9k.md §9"};
inline constexpr Rule replica_failed{"replica_failed", "spec/t9k.md §9"};
inline constexpr Rule restart_replica{"restart_replica", "spec/t9k.md §7"};
inline constexpr Rule scaled{"scaled", "spec/t9k.md §10"};
inline constexpr Rule paused{"paused", "spec/t9k.md §11"};
inline constexpr Rule resumed{"resumed", "spec/t9k.md §11"};
inline constexpr Rule master_succeeded{"master_succeeded", "spec/t9k.md §6, §8"};
inline constexpr Rule master_failed{"master_failed", "spec/t9k.md §6, §8"};
inline constexpr Rule deadline_reached{"deadline_reached", "spec/t9k.md §8"};
inline constexpr Rule write_status{"write_status", "spec/t9k.md §5, §9"};
inline constexpr Rule replace_pod{"replace_pod", "spec/t9k.md §7"};
inline constexpr Rule remove_surplus{"remove_surplus", "spec/t9k.md §10"};
inline constexpr Rule remove_paused_pod{"remove_paused_pod", "spec/t9k.md §11"};
inline constexpr Rule create_missing_pod{"create_missing_pod", "spec/t9k.md §4, §7", variables};
inline constexpr Rule clean_up{"clean_up", "spec/t9k.md §3, §15"};
inline constexpr Rule serve_tensorboard{"serve_tensorboard", "spec/t9k.md §13"};

// Of the scheduler.
inline constexpr Rule place_pod{"place_pod", "spec/t9k.md §14"};
inline constexpr Rule preempt_pod{"preempt_pod", "spec/t9k.md §14"};
inline constexpr Rule end_old_pod{"end_old_pod", "spec/t9k.md §14"};
inline constexpr Rule write_group{"write_group", "spec/t9k.md §14"};
inline constexpr Rule tell_waiting_pod{"tell_waiting_pod", "spec/t9k.md §14"};

// In the order of this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::t9k::rules
