#include "controller/training_operator/rules.hpp"

#include <array>

namespace ddptwin::controller::pytorchjob::rules {

std::span<const Rule* const> all() {
  static constexpr std::array<const Rule*, 42> rows{
      &job_is_gone,
      &invalid_job,
      &managed_elsewhere,
      &expectations_unmet,
      &job_is_being_deleted,
      &programming_error,
      &create_autoscaler,
      &update_autoscaler,
      &delete_autoscaler,
      &reset_expectations,
      &clean_up,
      &settle_counters,
      &suspend,
      &resume,
      &abnormal_pod,
      &backoff_limit_reached,
      &deadline_reached,
      &create_pod_group,
      &update_pod_group,
      &delete_pod_group,
      &await_pod_group,
      &create_missing_pod,
      &overwrite_restart_policy,
      &foreign_scheduler,
      &several_pods_at_index,
      &scale_down_pod,
      &report_exit_code,
      &replace_failed_pod,
      &permanent_exit_code,
      &create_missing_service,
      &scale_down_service,
      &started,
      &master_is_running,
      &master_succeeded,
      &workers_are_running,
      &workers_succeeded,
      &replicas_restart,
      &replicas_failed,
      &write_status,
      &ttl_is_over,
      &ttl_without_end,
      &await_ttl,

  };
  return rows;
}

}  // namespace ddptwin::controller::pytorchjob::rules
