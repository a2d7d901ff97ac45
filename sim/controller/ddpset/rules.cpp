#include "controller/ddpset/rules.hpp"

#include <array>

namespace ddptwin::controller::ddpset::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rules{
      &set_is_gone,    &set_is_being_deleted, &name_is_taken,      &create_service,
      &render_service, &create_statefulset,   &render_statefulset, &write_status,
  };
  return rules;
}

}  // namespace ddptwin::controller::ddpset::rules
