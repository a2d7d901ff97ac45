#include "controller/trainer/rules.hpp"

#include <array>

namespace ddptwin::controller::trainer::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rules{
      &job_is_gone,    &managed_elsewhere, &runtime_is_unknown,  &resources_failed,
      &take_snapshot,  &apply_secret,      &apply_hostfile,      &apply_pod_group,
      &make_jobset,    &apply_jobset,      &await_jobset,        &deadline_is_over,
      &await_deadline, &write_status,      &apply_status_server,
  };
  return rules;
}

}  // namespace ddptwin::controller::trainer::rules
