// The StatefulSet platform as a row: all that the rest of the twin knows of it
// (spec/statefulset-platform.md).
#include "objects/ddpset.hpp"

#include <fmt/format.h>

#include <array>

#include "controller/ddpset/controller.hpp"
#include "controller/ddpset/rules.hpp"
#include "controller/ddpset/webhook.hpp"
#include "core/numbers.hpp"
#include "objects/apps_v1.hpp"
#include "objects/schema.hpp"
#include "scenario/systems/ddpset_watch.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

namespace platform = controller::ddpset;

constexpr std::string_view only_version = "v1alpha1";

std::vector<std::string_view> platform_versions() { return {only_version}; }
std::string_view find_platform_version(std::string_view text) {
  return text == only_version ? only_version : std::string_view();
}
std::string_view default_platform_version() { return only_version; }

// ---- installation ------------------------------------------------------------------------------

// Compiled once a process and shared by its worlds, which only read it.
std::shared_ptr<const Schema> ddpset_definition() {
  static const std::shared_ptr<const Schema> compiled = [] {
    auto schema = Schema::compile(*DDPSet::info().schema.get());
    DDPTWIN_ASSERT(schema.has_value());  // our own text
    return std::make_shared<const Schema>(std::move(*schema));
  }();
  return compiled;
}

Result<std::vector<std::string>> review_ddpset(const AdmissionRequest& request) {
  if (!request.subresource.empty() || !request.object) return std::vector<std::string>();
  const auto* old = request.old ? as<DDPSet>(*request.old) : nullptr;
  if (auto refused = platform::review(static_cast<const DDPSet&>(*request.object), old))
    return fail(std::move(*refused));
  return std::vector<std::string>();
}

void install_platform(Installer& into, const InstalledSystem&) {
  into.define(DDPSet::info(), ddpset_definition());
  into.admit(AdmissionPhase::validating, &review_ddpset, DDPSet::info());
  into.host("ddpset-platform", [] { return std::make_unique<controller::DDPSetController>(); });
}

// ---- what its sets tell ------------------------------------------------------------------------

// The platform has carried the set's last edit out, and all that it asks for is there.
bool ddpset_stands(const Object& object) {
  const DDPSet& set = *as<DDPSet>(object);
  if (!set.status || set.status->observedGeneration < set.metadata.generation) return false;
  const int wanted = replicas_of(*set.spec);
  return set.status->replicas == wanted && set.status->readyReplicas == wanted &&
         set.status->updatedReplicas == wanted;
}

std::string ddpset_text(const Object& object) {
  const DDPSet& set = *as<DDPSet>(object);
  return fmt::format("{} of {} pods Ready", set.status ? set.status->readyReplicas : 0,
                     replicas_of(*set.spec));
}

PodTemplateSpec& ddpset_pods(Object& object) {
  return static_cast<DDPSet&>(object).spec.edit().template_;
}

constexpr std::array standing_sets{
    scenario::StandingKind{&DDPSet::info, &ddpset_stands, &ddpset_text, &ddpset_pods}};

// spec/statefulset-platform.md §7. They are of any StatefulSet: the two objects may be given
// directly.
constexpr std::array training_states{
    scenario::training_state::forming, scenario::training_state::training,
    scenario::training_state::broken, scenario::training_state::complete,
    scenario::training_state::crash_looping};
constexpr std::array state_words{
    scenario::StatusWords{.info = &DDPSet::info,
                          .phases = training_states,
                          .watched = true,
                          .good = scenario::training_state::complete,
                          .is_expected = true},
    scenario::StatusWords{.info = &StatefulSet::info,
                          .phases = training_states,
                          .watched = true,
                          .good = scenario::training_state::complete},
};

std::unique_ptr<scenario::StateWatch> watch_trainings() {
  return std::make_unique<scenario::TrainingWatch>();
}

// ---- what comes of what it puts into pods ------------------------------------------------------

std::string_view value_of(const StringMap& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : std::string_view(found->second);
}

// How many processes torchrun starts for `auto` (spec/statefulset-platform.md §5).
std::string processes_of(const Container& container) {
  const ResourceList& limits = *container.resources.limits;
  if (const auto gpus = limits.find("nvidia.com/gpu"); gpus != limits.end())
    return fmt::format("its GPUs, {}", gpus->second.str());
  return "its CPUs";
}

// What a number will be that the start script takes over as it is; empty: there is nothing to say.
std::string note_on_number(const StringMap& variables, std::string_view from, std::string_view to) {
  if (variables.find(from) == variables.end())
    return fmt::format("{} is not set: {} will be empty", from, to);
  const std::string_view value = value_of(variables, from);
  if (whole_number<std::int64_t>(value)) return {};
  return fmt::format("{}={} is no number: {} will be none, and the training will not start", from,
                     value, to);
}

// What the document's start script makes of the five variables (spec/statefulset-platform.md §5),
// and what the training will make of that. A pod that was given them by hand is told the same.
std::vector<std::string> explain_start_script(const Container& container,
                                              const StringMap& variables) {
  const auto has = [&variables](std::string_view name) {
    return variables.find(name) != variables.end();
  };
  if (!has("POD_NAME") || !has("SVC_NAME")) return {};
  const auto pod = value_of(variables, "POD_NAME"), nums = value_of(variables, "POD_NUMS"),
             port = value_of(variables, "POD_PORT");
  const std::size_t dash = pod.rfind('-');
  const auto rank = dash == pod.npos ? pod : pod.substr(dash + 1), job = pod.substr(0, dash);
  std::vector<std::string> notes;
  notes.push_back(fmt::format(
      "the start script makes of it: MASTER_ADDR={}-0.{}.{}.svc.cluster.local MASTER_PORT={} "
      "WORLD_SIZE={} RANK={}, and PET_MASTER_ADDR, PET_MASTER_PORT, PET_NNODES={} PET_NODE_RANK={} "
      "PET_NPROC_PER_NODE=auto",
      job, value_of(variables, "SVC_NAME"), value_of(variables, "POD_NAMESPACE"), port, nums, rank,
      nums, rank));
  notes.push_back(fmt::format(
      "WORLD_SIZE={} counts pods: right for `python train.py`, one process a pod; `torchrun "
      "train.py` starts as many in each pod as `auto` finds ({}), and gives them a WORLD_SIZE of "
      "all processes",
      nums, processes_of(container)));
  const auto number = whole_number<std::int64_t>(rank), world = whole_number<std::int64_t>(nums);
  if (!number)
    notes.push_back(
        fmt::format("RANK={} is no number: POD_NAME is no name that a StatefulSet "
                    "gives, and the training will not start",
                    rank));
  for (const auto& [from, to] : {std::pair{"POD_PORT", "MASTER_PORT"}, {"POD_NUMS", "WORLD_SIZE"}})
    if (std::string note = note_on_number(variables, from, to); !note.empty())
      notes.push_back(std::move(note));
  if (number && world && *number >= *world)
    notes.push_back(
        fmt::format("RANK={} is outside of a world of {}: the set was scaled past its "
                    "template, or its ordinals do not start at 0",
                    rank, nums));
  return notes;
}

constexpr std::array platform_controllers{SystemController{"ddpset-controller", "ddpset"}};
constexpr std::array<KindOf, 1> platform_kinds{&DDPSet::info};
constexpr std::array<KindOf, 1> made_kinds{&StatefulSet::info};

}  // namespace

constinit const System ddpset_platform{
    .name = "ddpset-platform",
    .title = "DDPSet platform",
    .versions = &platform_versions,
    .find_version = &find_platform_version,
    .default_version = &default_platform_version,
    .controllers = platform_controllers,
    .rules = &platform::rules::all,
    .kinds = platform_kinds,
    .makes = made_kinds,
    .standing = standing_sets,
    .states = state_words,
    .watch = &watch_trainings,
    .install = &install_platform,
    .explain = &explain_start_script,
};

}  // namespace ddptwin
