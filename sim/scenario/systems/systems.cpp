// Which job systems there are, in the order in which they are installed: a line each.
#include <algorithm>
#include <array>

#include "scenario/systems/autoscaled.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

constexpr std::array<const System*, 8> all_systems{
    &training_operator,        &ddpset_platform, &jobset_system, &trainer_system,
    &scheduler_plugins_system, &volcano_system,  &t9k_system,    &aistudio_system,
};

constexpr std::array autoscaling_systems{&is_autoscaled_by_training_operator};

}  // namespace

std::span<const System* const> systems() { return all_systems; }

bool is_autoscaled(const Object& object) {
  return std::any_of(autoscaling_systems.begin(), autoscaling_systems.end(),
                     [&object](const auto& of_system) { return of_system(object); });
}

}  // namespace ddptwin
