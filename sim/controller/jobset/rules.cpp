#include "controller/jobset/rules.hpp"

#include <array>

namespace ddptwin::controller::jobset::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rules{
      &set_is_gone,
      &set_is_being_deleted,
      &managed_elsewhere,
      &label_is_no_number,
      &delete_after_end,
      &ttl_is_over,
      &await_ttl,
      &delete_previous,
      &all_are_ready,
      &fail_without_policy,
      &fail_by_policy,
      &max_restarts_reached,
      &restart_all,
      &restart_all_uncounted,
      &restart_job,
      &restart_job_uncounted,
      &action_is_gated,
      &success_policy_met,
      &create_service,
      &create_claim,
      &scale_job,
      &await_dependency,
      &await_previous,
      &create_job,
      &await_order,
      &order_is_done,
      &suspend_job,
      &forget_start,
      &resume_job,
      &write_status,
      &tell,
  };
  return rules;
}

}  // namespace ddptwin::controller::jobset::rules
