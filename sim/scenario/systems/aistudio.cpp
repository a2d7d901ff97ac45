// AIStudio as a row: all that the rest of the twin knows of it (spec/aistudio.md).
#include <fmt/format.h>

#include <array>

#include "controller/aistudio/controller.hpp"
#include "controller/aistudio/policy.hpp"
#include "controller/aistudio/rules.hpp"
#include "controller/aistudio/webhook.hpp"
#include "objects/schema.hpp"
#include "scenario/systems/aistudio/parts.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

namespace aistudio = controller::aistudio;

constexpr std::string_view aistudio_only_version = "v1";

std::vector<std::string_view> aistudio_versions() { return {aistudio_only_version}; }
std::string_view find_aistudio_version(std::string_view text) {
  return text == aistudio_only_version ? aistudio_only_version : std::string_view();
}
std::string_view default_aistudio_version() { return aistudio_only_version; }

// ---- installation ------------------------------------------------------------------------------

// Compiled once a process and shared by its worlds, which only read it.
std::shared_ptr<const Schema> ddptask_definition() {
  static const std::shared_ptr<const Schema> compiled = [] {
    auto schema = Schema::compile(*DDPTask::info().schema.get());
    DDPTWIN_ASSERT(schema.has_value());  // our own text
    return std::make_shared<const Schema>(std::move(*schema));
  }();
  return compiled;
}

Result<std::vector<std::string>> review_ddptask(const AdmissionRequest& request) {
  if (!request.subresource.empty() || !request.object) return std::vector<std::string>();
  const auto* old = request.old ? as<DDPTask>(*request.old) : nullptr;
  if (auto refused = aistudio::review(static_cast<const DDPTask&>(*request.object), old))
    return fail(std::move(*refused));
  return std::vector<std::string>();
}

void install_aistudio(Installer& into, const InstalledSystem&) {
  into.define(DDPTask::info(), ddptask_definition());
  into.admit(AdmissionPhase::validating, &review_ddptask, DDPTask::info());
  into.host(scenario::aistudio_actor,
            [] { return std::make_unique<controller::DDPTaskController>(); });
}

// ---- what its tasks tell -----------------------------------------------------------------------

// The worker whose end failed it: the message names it.
std::string failed_by_worker(const Object& object) {
  const DDPTask& task = *as<DDPTask>(object);
  if (!task.status || task.status->reason != aistudio::reason::worker_failed) return {};
  for (const DDPTaskWorkerStatus& one : task.status->workers)
    if (task.status->message.find(fmt::format("(rank {})", one.rank)) != std::string::npos)
      return one.name;
  return {};
}

constexpr std::array<std::string_view, 2> stop_field{"spec", "stop"};
constexpr std::array ddptask_jobs{
    scenario::JobKind{&DDPTask::info, &scenario::conditions_of_ddptask, "Succeeded", "Failed",
                      "Stopped", stop_field, &failed_by_worker, &scenario::hidden_failure}};

constexpr std::array<std::string_view, 8> ddptask_phases{
    "Queued", "Creating", "SelfChecking", "Running", "Debugging", "Succeeded", "Failed", "Stopped"};
constexpr std::array ddptask_words{
    scenario::StatusWords{.info = &DDPTask::info, .phases = ddptask_phases}};

// ---- what comes of what it puts into pods ------------------------------------------------------

bool task_has(const StringMap& variables, std::string_view name) {
  return variables.find(name) != variables.end();
}

// The two meanings of WORLD_SIZE (spec/aistudio.md §3): pods in the container, processes in what
// torchrun starts there.
std::vector<std::string> explain_ddptask(const Container& container, const StringMap& variables) {
  if (container.name != aistudio::worker_container || !task_has(variables, "WORLD_SIZE") ||
      !task_has(variables, "RANK") || variables.find("MASTER_ADDR") == variables.end() ||
      !variables.find("MASTER_ADDR")->second.view().starts_with("jo-"))
    return {};
  return {fmt::format("WORLD_SIZE={} and RANK={} count pods: they are torchrun's --nnodes and "
                      "--node_rank; for the processes that it starts it sets both anew, and there "
                      "they count processes",
                      variables.find("WORLD_SIZE")->second.view(),
                      variables.find("RANK")->second.view()),
          "LOCAL_RANK is not set: it is torchrun's"};
}

constexpr std::array aistudio_readers{&scenario::ddptask_reader};
constexpr std::array aistudio_controllers{SystemController{"ddptask-controller", "ddptask"}};
constexpr std::array<KindOf, 1> aistudio_kinds{&DDPTask::info};

}  // namespace

constinit const System aistudio_system{
    .name = scenario::aistudio_actor,
    .title = "AIStudio platform",
    .versions = &aistudio_versions,
    .find_version = &find_aistudio_version,
    .default_version = &default_aistudio_version,
    .controllers = aistudio_controllers,
    .rules = &aistudio::rules::all,
    .kinds = aistudio_kinds,
    .jobs = ddptask_jobs,
    .states = ddptask_words,
    .readers = aistudio_readers,
    .invariants = &scenario::aistudio_invariants,
    .install = &install_aistudio,
    .explain = &explain_ddptask,
};

}  // namespace ddptwin
