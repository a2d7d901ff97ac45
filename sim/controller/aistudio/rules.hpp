// Every rule of AIStudio's controller by name, with its source.
#pragma once

#include <array>
#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::aistudio::rules {

// That a worker's container gets (spec/aistudio.md §3).
inline constexpr std::array variables{
    VariableRow{"MASTER_ADDR", "the name of worker 0's pod"},
    VariableRow{"MASTER_PORT", "29500, or what the task says for all workers"},
    VariableRow{"WORLD_SIZE", "workers: pods, not processes"},
    VariableRow{"RANK", "the worker's index: of the pod, not of a process"},
};

inline constexpr Rule task_is_gone{"task_is_gone", "spec/aistudio.md §5"};
inline constexpr Rule task_is_being_deleted{"task_is_being_deleted", "spec/aistudio.md §5"};
inline constexpr Rule await_own_write{"await_own_write", "spec/aistudio.md §5"};
inline constexpr Rule expectations_unmet{"expectations_unmet", "spec/aistudio.md §3"};
inline constexpr Rule create_service{"create_service", "spec/aistudio.md §3"};
inline constexpr Rule create_worker{"create_worker", "spec/aistudio.md §3", variables};
inline constexpr Rule check_blocks{"check_blocks", "spec/aistudio.md §4"};
inline constexpr Rule check_hangs{"check_hangs", "spec/aistudio.md §4"};
inline constexpr Rule worker_fails_task{"worker_fails_task", "spec/aistudio.md §5"};
inline constexpr Rule lost_worker_fails_task{"lost_worker_fails_task", "spec/aistudio.md §5"};
inline constexpr Rule start_again{"start_again", "spec/aistudio.md §4, §5"};
inline constexpr Rule all_workers_succeeded{"all_workers_succeeded", "spec/aistudio.md §5"};
inline constexpr Rule stop_task{"stop_task", "spec/aistudio.md §5"};
inline constexpr Rule debug_task{"debug_task", "spec/aistudio.md §8"};
inline constexpr Rule run_task{"run_task", "spec/aistudio.md §8"};
inline constexpr Rule write_status{"write_status", "spec/aistudio.md §5"};
inline constexpr Rule end_worker{"end_worker", "spec/aistudio.md §5"};
inline constexpr Rule remove_old_attempt{"remove_old_attempt", "spec/aistudio.md §5"};

// In the order of this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::aistudio::rules
