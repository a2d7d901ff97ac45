// Kubeflow's training-operator v1 as a row: all that the rest of the twin knows of it
// (spec/pytorchjob.md).
#include <fmt/format.h>

#include <array>

#include "controller/training_operator/controller.hpp"
#include "controller/training_operator/defaults.hpp"
#include "controller/training_operator/names.hpp"
#include "controller/training_operator/profile.hpp"
#include "controller/training_operator/rules.hpp"
#include "controller/training_operator/webhook.hpp"
#include "core/numbers.hpp"
#include "objects/pytorchjob.hpp"
#include "objects/pytorchjob_definition.hpp"
#include "objects/schema.hpp"
#include "objects/validation.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/systems/training_operator/parts.hpp"

namespace ddptwin {
namespace {

namespace pytorchjob = controller::pytorchjob;

// ---- versions ----------------------------------------------------------------------------------

std::vector<std::string_view> operator_versions() {
  std::vector<std::string_view> versions;
  for (const auto& profile : pytorchjob::profiles()) versions.push_back(profile.version);
  return versions;
}

std::string_view find_operator_version(std::string_view text) {
  const pytorchjob::Profile* profile = pytorchjob::find_profile(text);
  return profile != nullptr ? profile->version : std::string_view();
}

std::string_view default_operator_version() { return pytorchjob::default_profile().version; }

const pytorchjob::Profile& profile_of(std::string_view version) {
  const pytorchjob::Profile* profile = pytorchjob::find_profile(version);
  DDPTWIN_ASSERT(profile != nullptr);  // find_operator_version() gave it
  return *profile;
}

// ---- installation ------------------------------------------------------------------------------

// Compiled once a process and shared by its worlds, which only read it.
template <bool keyed_lists, bool immutable_queue, bool managed_by>
std::shared_ptr<const Schema> definition() {
  static const std::shared_ptr<const Schema> compiled = [] {
    const RawJson source = pytorchjob_schema(
        {.keyed_lists = keyed_lists, .immutable_queue = immutable_queue, .managed_by = managed_by});
    auto schema = Schema::compile(*source.get());
    DDPTWIN_ASSERT(schema.has_value());  // our own text
    return std::make_shared<const Schema>(std::move(*schema));
  }();
  return compiled;
}

std::shared_ptr<const Schema> definition_of(const pytorchjob::Profile& profile) {
  static constexpr std::array definitions{
      &definition<false, false, false>, &definition<false, false, true>,
      &definition<false, true, false>,  &definition<false, true, true>,
      &definition<true, false, false>,  &definition<true, false, true>,
      &definition<true, true, false>,   &definition<true, true, true>};
  const std::size_t row = (profile.keyed_lists ? 4U : 0U) + (profile.immutable_queue ? 2U : 0U) +
                          (profile.managed_by ? 1U : 0U);
  return definitions[row]();
}

AdmissionHook webhook_of(const pytorchjob::Profile& profile) {
  return [profile](const AdmissionRequest& request) -> Result<std::vector<std::string>> {
    if (!request.subresource.empty() || !request.object) return std::vector<std::string>();
    pytorchjob::Review verdict =
        pytorchjob::review(static_cast<const PyTorchJob&>(*request.object), nullptr, profile);
    if (verdict.refused) {
      verdict.refused->warnings = std::move(verdict.warnings);
      return fail(std::move(*verdict.refused));
    }
    return std::move(verdict.warnings);
  };
}

// A flag, and where its value goes; false: it cannot be taken.
struct OperatorFlag {
  SystemFlag told;
  bool (*read)(std::string_view value, pytorchjob::Settings& to);
};

template <bool (*read)(std::string_view, pytorchjob::Settings&)>
constexpr OperatorFlag flag_of(std::string_view name, std::string_view shape,
                               std::string_view help) {
  return {{name, shape, help,
           [](std::string_view value) {
             pytorchjob::Settings nowhere;
             return read(value, nowhere);
           }},
          read};
}

bool read_init_image(std::string_view value, pytorchjob::Settings& to) {
  to.init_container.image = value;
  return !value.empty();
}

bool read_init_tries(std::string_view value, pytorchjob::Settings& to) {
  const auto tries = whole_number<int>(value);
  to.init_container.max_tries = tries.value_or(0);
  return tries && *tries >= 0;
}

bool read_init_template(std::string_view value, pytorchjob::Settings& to) {
  to.init_container.template_text = value;
  return !value.empty();
}

bool read_gang_scheduler(std::string_view value, pytorchjob::Settings& to) {
  to.gang_scheduler = value;
  return value.empty() || dns_subdomain_problems(value).empty();
}

bool read_type_order(std::string_view value, pytorchjob::Settings& to) {
  constexpr std::array<std::string_view, 3> orders{"master-first", "worker-first", "random"};
  const auto order = std::find(orders.begin(), orders.end(), value);
  if (order == orders.end()) return false;
  to.pod_order = to.status_order = static_cast<pytorchjob::TypeOrder>(order - orders.begin());
  return true;
}

// spec/pytorchjob.md §2.4, Q9.
constexpr std::array operator_flags{
    flag_of<&read_init_image>("pytorch-init-container-image", "an image",
                              "of the init container that waits for the master's name; default: "
                              "alpine:3.10"),
    flag_of<&read_init_tries>("pytorch-init-container-max-tries", "a whole number",
                              "so often it asks for the name before it fails; default: 100"),
    flag_of<&read_init_template>("pytorch-init-container-template-file", "text",
                                 "what that file holds: a list of containers with "
                                 "{{.MasterAddr}}, {{.InitContainerImage}}, {{.MaxTries}}"),
    flag_of<&read_gang_scheduler>(
        "gang-scheduler-name", "a scheduler's name",
        "each job gets a PodGroup and its pods that scheduler: volcano, or another, which is taken "
        "for scheduler-plugins (scheduler-plugins-scheduler); switch it on, too: "
        "spec.cluster.systems.volcano or .scheduler-plugins; default: none"),
    flag_of<&read_type_order>("replica-type-order", "master-first, worker-first or random",
                              "in which order a pass looks at the replica types; no flag of the "
                              "operator's, whose order is that of a Go map: random, and any of "
                              "the three may be what an incident needs; default: master-first"),
};
constexpr auto told_flags = [] {
  std::array<SystemFlag, operator_flags.size()> told{};
  for (std::size_t i = 0; i < told.size(); ++i) told[i] = operator_flags[i].told;
  return told;
}();

void install_operator(Installer& into, const InstalledSystem& told) {
  const pytorchjob::Profile& profile = profile_of(told.version);
  into.define(PyTorchJob::info(), definition_of(profile));
  into.admit(AdmissionPhase::validating, webhook_of(profile), PyTorchJob::info());
  pytorchjob::Settings settings;
  settings.profile = profile;
  for (const OperatorFlag& flag : operator_flags)
    if (const auto value = told.flags.find(flag.told.name); value != told.flags.end())
      flag.read(value->second, settings);
  into.host(operator_actor,
            [settings] { return std::make_unique<pytorchjob::PyTorchJobController>(settings); });
}

// ---- what its jobs tell ------------------------------------------------------------------------

std::vector<scenario::ToldCondition> conditions_of_pytorchjob(const Object& object) {
  std::vector<scenario::ToldCondition> found;
  const PyTorchJob& job = *as<PyTorchJob>(object);
  if (!job.status) return found;
  for (const JobCondition& condition : job.status->conditions)
    found.push_back({condition.type_, condition.status, condition.reason, condition.message});
  return found;
}

constexpr std::array<std::string_view, 3> run_policy_suspend{"spec", "runPolicy", "suspend"};

// spec/pytorchjob.md §1, §4.9.
constexpr std::array job_rows{scenario::JobKind{&PyTorchJob::info, &conditions_of_pytorchjob,
                                                "Succeeded", "Failed", "Suspended",
                                                run_policy_suspend}};

// Of kubeflow.org/v1alpha1 to v1beta2, and of the first v1, which had the runPolicy's fields in
// spec itself.
constexpr std::array moved_fields{
    MovedField{"PyTorchJob", "cleanPodPolicy", "spec.runPolicy.cleanPodPolicy"},
    MovedField{"PyTorchJob", "ttlSecondsAfterFinished", "spec.runPolicy.ttlSecondsAfterFinished"},
    MovedField{"PyTorchJob", "activeDeadlineSeconds", "spec.runPolicy.activeDeadlineSeconds"},
    MovedField{"PyTorchJob", "backoffLimit", "spec.runPolicy.backoffLimit"},
    MovedField{"PyTorchJob", "schedulingPolicy", "spec.runPolicy.schedulingPolicy"},
    MovedField{"PyTorchJob", "suspend", "spec.runPolicy.suspend"},
    MovedField{"PyTorchJob", "replicaSpecs",
               "spec.pytorchReplicaSpecs, a map of Master and Worker"},
    MovedField{"PyTorchJob", "masterPort", "the port pytorchjob-port of the container pytorch"},
};
// spec/pytorchjob.md §5.
constexpr std::array<std::string_view, 6> pytorchjob_conditions{
    "Created", "Running", "Restarting", "Succeeded", "Failed", "Suspended"};
constexpr std::array state_rows{
    scenario::StatusWords{.info = &PyTorchJob::info, .conditions = pytorchjob_conditions}};

// The gang scheduler that the operator is started with; nothing: it is not there, or has none.
std::optional<std::string> gang_scheduler_of(std::span<const InstalledSystem> installed) {
  for (const InstalledSystem& one : installed) {
    if (one.system != &training_operator) continue;
    const auto flag = one.flags.find("gang-scheduler-name");
    return flag == one.flags.end() ? std::string() : flag->second;
  }
  return std::nullopt;
}

// Nothing else of the operator reads it.
std::string unheeded_policy(std::span<const InstalledSystem> installed) {
  if (gang_scheduler_of(installed) != "") return {};
  return "the training operator reads it where it is started with gang-scheduler-name "
         "(spec.cluster.systems: {training-operator: {flags: {gang-scheduler-name: NAME}}})";
}

// Without its kind of PodGroup the operator waits.
std::string missing_scheduler(std::span<const InstalledSystem> installed) {
  const std::string name = gang_scheduler_of(installed).value_or("");
  if (name.empty()) return {};
  const bool is_volcano = pytorchjob::lower(name) == "volcano";
  const System& system = is_volcano ? volcano_system : scheduler_plugins_system;
  if (is_among(installed, system)) return {};
  return fmt::format(
      "gang-scheduler-name of the training operator is {}, and there is no such "
      "kind of PodGroup: no pod is made (spec.cluster.systems: {{{}: on}})",
      name, system.name);
}
constexpr std::array policy_fields{
    GangField{&PyTorchJob::info, "runPolicy.schedulingPolicy", &unheeded_policy},
    GangField{&PyTorchJob::info, "", &missing_scheduler}};

constexpr std::array readers{&scenario::pytorchjob_reader};

constexpr std::array operator_controllers{
    SystemController{"pytorchjob-controller", "pytorchjob"},
};

// spec/pytorchjob.md §3.5
bool is_autoscaled(const Object& object) {
  const PyTorchJob* job = as<PyTorchJob>(object);
  return job != nullptr && job->spec->elasticPolicy &&
         job->spec->elasticPolicy->metrics.get() != nullptr;
}

}  // namespace

constinit const System training_operator{
    .name = operator_actor,
    .title = "training operator",
    .versions = &operator_versions,
    .find_version = &find_operator_version,
    .default_version = &default_operator_version,
    .controllers = operator_controllers,
    .rules = &pytorchjob::rules::all,
    .is_autoscaled = &is_autoscaled,
    .jobs = job_rows,
    .states = state_rows,
    .readers = readers,
    .gang_fields = policy_fields,
    .invariants = &scenario::training_operator_invariants,
    .moved = moved_fields,
    .flags = told_flags,
    .install = &install_operator,
};

}  // namespace ddptwin
