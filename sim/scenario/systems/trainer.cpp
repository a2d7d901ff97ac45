// Kubeflow Trainer as a row: all that the rest of the twin knows of it (spec/trainjob.md §1 to §4).
#include <fmt/format.h>

#include <array>

#include "controller/trainer/controller.hpp"
#include "controller/trainer/profile.hpp"
#include "controller/trainer/rules.hpp"
#include "objects/pod_groups.hpp"
#include "objects/trainjob.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/brought.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/systems/trainer/parts.hpp"
#include "scenario/systems/trainer_install.hpp"

namespace ddptwin {
namespace {

namespace trainer = controller::trainer;

// ---- versions and installation -----------------------------------------------------------------

std::vector<std::string_view> trainer_versions() {
  std::vector<std::string_view> versions;
  for (const auto& profile : trainer::profiles()) versions.push_back(profile.version);
  return versions;
}

std::string_view find_trainer_version(std::string_view text) {
  const trainer::Profile* profile = trainer::find_profile(text);
  return profile != nullptr ? profile->version : std::string_view();
}

std::string_view default_trainer_version() { return trainer::default_profile().version; }

bool takes_trainer_gates(std::string_view gates) {
  trainer::Profile profile = trainer::default_profile();
  return trainer::set_gates(gates, profile);
}

constexpr std::string_view trainer_gates_flag = "feature-gates";
constexpr std::array trainer_flags{
    SystemFlag{trainer_gates_flag, "a list of GATE=true and GATE=false, with commas between",
               "its feature gate TrainJobStatus, off by default and of v2.2 and later: containers "
               "that train are told where to report how far they are",
               &takes_trainer_gates}};

void install_trainer(Installer& into, const InstalledSystem& told) {
  const trainer::Profile* profile = trainer::find_profile(told.version);
  DDPTWIN_ASSERT(profile != nullptr);  // find_trainer_version() gave it
  scenario::install_trainer_api(into, *profile);
  trainer::Profile gated = *profile;
  if (const auto gates = told.flags.find(trainer_gates_flag); gates != told.flags.end())
    trainer::set_gates(gates->second, gated);
  into.host(trainer_actor,
            [gated] { return std::make_unique<controller::TrainJobController>(gated); });
}

// What `lenient` takes and the default does not (spec/trainjob.md §0.2, §0.3).
constexpr std::array moved_trainer_fields{
    MovedField{"TrainingRuntime", "mlPolicy.torch.numProcPerNode",
               "spec.trainer.numProcPerNode of the TrainJob, a number; or a Scenario says "
               "spec.cluster.systems: {trainer: lenient}"},
    MovedField{"TrainingRuntime", "mlPolicy.torch.elasticPolicy",
               "nothing: no release has obeyed it; leave it out"},
    MovedField{"TrainJob", "podSpecOverrides", "spec.runtimePatches"},
    MovedField{"TrainJob", "podTemplateOverrides", "spec.runtimePatches"},
    MovedField{"TrainJob", "labels", "template.metadata.labels of one of spec.runtimePatches"},
    MovedField{"TrainJob", "annotations",
               "template.metadata.annotations of one of spec.runtimePatches"},
};

// ---- what its TrainJobs tell -------------------------------------------------------------------

std::vector<scenario::ToldCondition> conditions_of_trainjob(const Object& object) {
  std::vector<scenario::ToldCondition> found;
  const TrainJob& job = *as<TrainJob>(object);
  if (!job.status) return found;
  for (const JobSetCondition& one : job.status->conditions)
    found.push_back({one.type_, one.status, one.reason, one.message});
  return found;
}

constexpr std::array<std::string_view, 2> trainjob_suspend{"spec", "suspend"};
constexpr std::array trainjob_jobs{scenario::JobKind{
    &TrainJob::info, &conditions_of_trainjob, "Complete", "Failed", "Suspended", trainjob_suspend}};

// spec/trainjob.md §1.2.
constexpr std::array<std::string_view, 3> trainjob_conditions{"Complete", "Failed", "Suspended"};
constexpr std::array trainjob_words{
    scenario::StatusWords{.info = &TrainJob::info, .conditions = trainjob_conditions}};

// Its PodGroups are made all the same.
template <const System& scheduler>
std::string unheeded_group(std::span<const InstalledSystem> installed) {
  if (is_among(installed, scheduler)) return {};
  return fmt::format(
      "a PodGroup is made of it, and nobody reads that: no {} runs "
      "(spec.cluster.systems: {{{}: on}})",
      scheduler.title, scheduler.name);
}
constexpr std::array group_fields{
    GangField{&TrainingRuntime::info, "podGroupPolicy.coscheduling",
              &unheeded_group<scheduler_plugins_system>},
    GangField{&TrainingRuntime::info, "podGroupPolicy.volcano", &unheeded_group<volcano_system>},
    GangField{&ClusterTrainingRuntime::info, "podGroupPolicy.coscheduling",
              &unheeded_group<scheduler_plugins_system>},
    GangField{&ClusterTrainingRuntime::info, "podGroupPolicy.volcano",
              &unheeded_group<volcano_system>},
};

constexpr std::array trainjob_readers{&scenario::trainjob_reader};
constexpr std::array trainer_controllers{
    SystemController{"trainer-trainjob-controller", "trainjob"}};
constexpr std::array<KindOf, 3> trainer_kinds{&TrainJob::info, &TrainingRuntime::info,
                                              &ClusterTrainingRuntime::info};
constexpr std::array<KindOf, 3> trainer_makes{&JobSet::info, &CoschedulingGroup::info,
                                              &VolcanoGroup::info};

std::string_view jobset_of_trainer(std::string_view version) {
  return trainer::find_profile(version)->jobset;
}
constexpr std::array brought_by_trainer{
    BroughtSystem{&trainer_system, &jobset_system, &jobset_of_trainer}};

}  // namespace

std::span<const BroughtSystem> brought_systems() { return brought_by_trainer; }

constinit const System trainer_system{
    .name = trainer_actor,
    .title = "Kubeflow Trainer",
    .versions = &trainer_versions,
    .find_version = &find_trainer_version,
    .default_version = &default_trainer_version,
    .controllers = trainer_controllers,
    .rules = &trainer::rules::all,
    .kinds = trainer_kinds,
    .makes = trainer_makes,
    .jobs = trainjob_jobs,
    .states = trainjob_words,
    .readers = trainjob_readers,
    .gang_fields = group_fields,
    .invariants = &scenario::trainjob_invariants,
    .moved = moved_trainer_fields,
    .flags = trainer_flags,
    .install = &install_trainer,
};

}  // namespace ddptwin
