// The squads' system as a row: how it is installed, how its objects are read, and what it promises.
#include "toy_system/row.hpp"

#include <array>

#include "scenario/invariants/judges.hpp"
#include "toy_system/controller.hpp"
#include "toy_system/squad.hpp"

namespace ddptwin::toy {
namespace {

using namespace scenario::invariants;
using scenario::InvariantRow;
using scenario::JobKind;
using scenario::Workload;
using scenario::WorkloadReader;

constexpr const char* squad_operator = "squad-operator";

// ---- versions and installation -----------------------------------------------------------------

std::vector<std::string_view> versions() { return {"v0", "v1"}; }
std::string_view find_version(std::string_view text) {
  for (const std::string_view version : versions())
    if (version == text) return version;  // a literal: the text does not stay
  return {};
}
std::string_view default_version() { return "v1"; }

void install(Installer& into, const InstalledSystem& told) {
  const bool forgets = told.version == "v0";
  into.host(squad_operator, [forgets] { return std::make_unique<SquadController>(forgets); });
}

// ---- what its objects tell ---------------------------------------------------------------------

std::string_view phase_of(const Object& object) {
  const auto& status = as<Squad>(object)->status;
  return status ? std::string_view(status->phase) : std::string_view();
}

// For reports, for `finished` and for what a run expects without being told.
std::vector<scenario::ToldCondition> conditions_of(const Object& object) {
  const std::string_view phase = phase_of(object);
  if (phase.empty()) return {};
  return {{.type = phase, .status = "True"}};
}
constexpr std::array jobs{JobKind{&Squad::info, &conditions_of, "Succeeded", "Failed", "", {}}};

// For the judges. It reads, and works nothing out as the controller does.
Workload read_squad(const Object& object) {
  const Squad& squad = *as<Squad>(object);
  Workload told;
  Workload::Group group;
  group.wanted = squad.spec->replicas.value_or(1);
  group.restart = squad.spec->template_.spec->restartPolicy;
  group.decides = true;
  told.groups.push_back(group);
  told.told = !phase_of(object).empty();
  told.succeeded = phase_of(object) == "Succeeded";
  told.failed = phase_of(object) == "Failed";
  return told;
}
constexpr WorkloadReader reader{
    .system = "squad",
    .info = &Squad::info,
    .read = &read_squad,
    .actor = squad_operator,
    .pods_by = squad_operator,
    .controller = "squad-controller",
    .index_label = "toy.example/index",
    .success = "Succeeded",
    .failure = "Failed",
};
constexpr std::array readers{&reader};

// ---- what it promises --------------------------------------------------------------------------

bool keeps_its_pods(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr) return false;
  if (deletion_asked(*sight.record, squad_operator))
    verdicts.violated(name_of(*sight.record->before), "the squad's own controller deleted it");
  return true;
}
constexpr std::array promises{InvariantRow{"squad-keeps-its-pods", "toy",
                                           "No pod of a squad is deleted by its controller.",
                                           "Who made a pod leaves it to its end.", "", false,
                                           topics(Topic::pod), &keeps_its_pods, nullptr, nullptr}};
std::span<const InvariantRow> invariants() { return promises; }

constexpr std::array controllers{SystemController{"squad-controller", "squad"}};

}  // namespace

constinit const System squad_system{
    .name = "squad",
    .title = "toy of squads",
    .versions = &versions,
    .find_version = &find_version,
    .default_version = &default_version,
    .controllers = controllers,
    .rules = &squad_rules,
    .jobs = jobs,
    .readers = readers,
    .invariants = &invariants,
    .install = &install,
};

}  // namespace ddptwin::toy
