// The line that a new system costs, in sim/scenario/systems/systems.cpp.
#include <array>

#include "scenario/systems/system.hpp"
#include "toy_system/row.hpp"

namespace ddptwin {
namespace {

constexpr std::array all_systems{&training_operator, &toy::squad_system};

}  // namespace

std::span<const System* const> systems() { return all_systems; }

}  // namespace ddptwin
