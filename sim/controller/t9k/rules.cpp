#include "controller/t9k/rules.hpp"

#include <array>

namespace ddptwin::controller::t9k::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rows{&job_is_gone,
                                   &job_is_being_deleted,
                                   &await_own_write,
                                   &expectations_unmet,
                                   &create_service,
                                   &create_pod_group,
                                   &create_tensorboard,
                                   &elastic_ignored,
                                   &created,
                                   &initialized,
                                   &replica_failed,
                                   &restart_replica,
                                   &scaled,
                                   &paused,
                                   &resumed,
                                   &master_succeeded,
                                   &master_failed,
                                   &deadline_reached,
                                   &write_status,
                                   &replace_pod,
                                   &remove_surplus,
                                   &remove_paused_pod,
                                   &create_missing_pod,
                                   &clean_up,
                                   &serve_tensorboard,
                                   &place_pod,
                                   &preempt_pod,
                                   &end_old_pod,
                                   &write_group,
                                   &tell_waiting_pod};
  return rows;
}

}  // namespace ddptwin::controller::t9k::rules
