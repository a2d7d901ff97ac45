#include "controller/manager/statefulset/rules.hpp"

#include <array>

namespace ddptwin::controller::statefulset::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rules{
      &set_is_gone,          &set_is_being_deleted, &adopt_pod,         &release_pod,
      &adopt_revision,       &create_revision,      &roll_back,         &trim_history,
      &replace_finished_pod, &create_pod,           &await_stale_claim, &await_termination,
      &await_ready,          &restore_identity,     &create_claim,      &claim_is_being_deleted,
      &hand_on_claim,        &scale_down_pod,       &update_pod,        &await_updated_pod,
      &write_status,
  };
  return rules;
}

}  // namespace ddptwin::controller::statefulset::rules
