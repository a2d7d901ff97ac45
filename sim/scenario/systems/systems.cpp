// Which job systems there are, in the order in which they are installed: a line each.
#include <array>

#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

constexpr std::array<const System*, 8> all_systems{
    &training_operator,        &ddpset_platform, &jobset_system, &trainer_system,
    &scheduler_plugins_system, &volcano_system,  &t9k_system,    &aistudio_system,
};

}  // namespace

std::span<const System* const> systems() { return all_systems; }

}  // namespace ddptwin
