#include "controller/manager/job/rules.hpp"

#include <array>

namespace ddptwin::controller::job::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rules{
      &job_is_gone,
      &managed_elsewhere,
      &job_is_finished,
      &expectations_unmet,
      &adopt_pod,
      &release_pod,
      &fail_by_policy,
      &backoff_limit_reached,
      &deadline_reached,
      &too_many_failed_indexes,
      &failed_indexes,
      &success_by_policy,
      &completions_reached,
      &suspend,
      &resume,
      &delete_pod,
      &create_pod,
      &await_back_off,
      &count_pods,
      &release_counted_pod,
      &write_status,
      &finish,
      &release_orphan_pod,
      &ttl_is_over,
      &await_ttl,
  };
  return rules;
}

}  // namespace ddptwin::controller::job::rules
