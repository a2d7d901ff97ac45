#include "scenario/systems/system.hpp"

#include <algorithm>
#include <array>

namespace ddptwin {
namespace {

constexpr std::array<const System*, 1> all_systems{&training_operator};

}  // namespace

std::span<const System* const> systems() { return all_systems; }

std::vector<InstalledSystem> default_systems() {
  std::vector<InstalledSystem> installed;
  for (const System* system : systems())
    installed.push_back({.system = system, .version = system->default_version()});
  return installed;
}

void set_version(std::vector<InstalledSystem>& among, const System& system,
                 std::string_view version) {
  for (InstalledSystem& one : among)
    if (one.system == &system) one.version = version;
}

std::string_view version_of(std::span<const InstalledSystem> among, const System& system) {
  const auto found =
      std::find_if(among.begin(), among.end(),
                   [&system](const InstalledSystem& one) { return one.system == &system; });
  return found == among.end() ? std::string_view() : found->version;
}

}  // namespace ddptwin
