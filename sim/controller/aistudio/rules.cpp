#include "controller/aistudio/rules.hpp"

namespace ddptwin::controller::aistudio::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rows{&task_is_gone,      &task_is_being_deleted,
                                   &await_own_write,   &expectations_unmet,
                                   &create_service,    &create_worker,
                                   &check_blocks,      &check_hangs,
                                   &worker_fails_task, &lost_worker_fails_task,
                                   &start_again,       &all_workers_succeeded,
                                   &stop_task,         &debug_task,
                                   &run_task,          &write_status,
                                   &end_worker,        &remove_old_attempt};
  return rows;
}

}  // namespace ddptwin::controller::aistudio::rules
