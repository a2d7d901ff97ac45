// T9k as a row: all that the rest of the twin knows of it (spec/t9k.md).
#include <fmt/format.h>

#include <array>

#include "cluster/store/store.hpp"
#include "controller/t9k/controller.hpp"
#include "controller/t9k/render.hpp"
#include "controller/t9k/rules.hpp"
#include "controller/t9k/scheduler.hpp"
#include "controller/t9k/webhook.hpp"
#include "core/numbers.hpp"
#include "objects/schema.hpp"
#include "objects/t9k_scheduling.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/systems/t9k/parts.hpp"

namespace ddptwin {
namespace {

namespace t9k = controller::t9k;

constexpr std::string_view t9k_only_version = "v1beta1";

std::vector<std::string_view> t9k_versions() { return {t9k_only_version}; }
std::string_view find_t9k_version(std::string_view text) {
  return text == t9k_only_version ? t9k_only_version : std::string_view();
}
std::string_view default_t9k_version() { return t9k_only_version; }

// ---- installation ------------------------------------------------------------------------------

// Compiled once a process and shared by its worlds, which only read it.
std::shared_ptr<const Schema> training_job_definition() {
  static const std::shared_ptr<const Schema> compiled = [] {
    auto schema = Schema::compile(*PyTorchTrainingJob::info().schema.get());
    DDPTWIN_ASSERT(schema.has_value());  // our own text
    return std::make_shared<const Schema>(std::move(*schema));
  }();
  return compiled;
}

Result<std::vector<std::string>> default_training_job(const AdmissionRequest& request) {
  if (request.subresource.empty() && request.object)
    t9k::fill_defaults(static_cast<PyTorchTrainingJob&>(*request.object));
  return std::vector<std::string>();
}

Result<std::vector<std::string>> review_training_job(const AdmissionRequest& request) {
  if (!request.subresource.empty() || !request.object) return std::vector<std::string>();
  const auto* old = request.old ? as<PyTorchTrainingJob>(*request.old) : nullptr;
  if (auto refused = t9k::review(static_cast<const PyTorchTrainingJob&>(*request.object), old))
    return fail(std::move(*refused));
  return std::vector<std::string>();
}

// Of a pod that is to go through a queue.
Result<std::vector<std::string>> review_queued_pod(const Store& store,
                                                   const AdmissionRequest& request) {
  const Pod* pod = request.object ? as<Pod>(*request.object) : nullptr;
  const Text* name = pod != nullptr ? pod->metadata.label(t9k::label::queue) : nullptr;
  if (!request.subresource.empty() || name == nullptr) return std::vector<std::string>();
  const auto queue = as<T9kQueue>(store.find(T9kQueue::info(), "", *name));
  if (auto refused = t9k::refusal_of_queue(*name, queue.get()))
    return fail(Reason::forbidden,
                fmt::format("admission webhook \"queue.scheduler.tensorstack.dev\" denied the "
                            "request: {}",
                            *refused));
  return std::vector<std::string>();
}

void install_t9k(Installer& into, const InstalledSystem&) {
  into.define(PyTorchTrainingJob::info(), training_job_definition());
  into.admit(AdmissionPhase::mutating, &default_training_job, PyTorchTrainingJob::info());
  into.admit(AdmissionPhase::validating, &review_training_job, PyTorchTrainingJob::info());
  into.host(scenario::t9k_actor,
            [] { return std::make_unique<controller::PyTorchTrainingJobController>(); });
  into.host(scenario::t9k_actor,
            [] { return std::make_unique<controller::TensorBoardController>(); });
  into.admit(
      AdmissionPhase::validating,
      [&store = into.cluster()](const AdmissionRequest& request) {
        return review_queued_pod(store, request);
      },
      Pod::info(), api::Verb::create);
  into.host(scenario::t9k_scheduler_actor,
            [] { return std::make_unique<controller::T9kSchedulerController>(); });
}

// ---- what its jobs tell ------------------------------------------------------------------------

// Its master's, or nobody's: then it was the deadline.
std::string failed_by_master(const Object& object) {
  const PyTorchTrainingJob& job = *as<PyTorchTrainingJob>(object);
  if (!job.status || job.status->tasks.empty() || job.status->tasks.front().replicas.empty())
    return {};
  const TaskReplica& master = job.status->tasks.front().replicas.front();
  const bool by_it =
      std::any_of(master.containers.begin(), master.containers.end(),
                  [](const TaskContainer& one) { return one.exitCode.value_or(0) != 0; });
  return by_it || master.phase == "Failed" ? master.name : std::string();
}

constexpr std::array<std::string_view, 4> pause_field{"spec", "runMode", "pause", "enabled"};
constexpr std::array training_jobs{
    scenario::JobKind{&PyTorchTrainingJob::info, &scenario::conditions_of_training_job, "Completed",
                      "Failed", "Paused", pause_field, &failed_by_master}};

constexpr std::array<std::string_view, 7> training_phases{
    "Pending", "Running", "Paused", "Resuming", "Succeeded", "Failed", "Unknown"};
constexpr std::array<std::string_view, 6> training_conditions{
    "Initialized", "Running", "ReplicaFailure", "Completed", "Failed", "Paused"};
constexpr std::array<std::string_view, 2> group_conditions{"SufficientGroupMember",
                                                           "GroupScheduled"};
constexpr std::array training_words{
    scenario::StatusWords{.info = &PyTorchTrainingJob::info,
                          .phases = training_phases,
                          .conditions = training_conditions},
    scenario::StatusWords{.info = &T9kPodGroup::info, .conditions = group_conditions}};

// spec/t9k.md §2.3: older spellings, which are pruned.
constexpr std::array t9k_moved_fields{
    MovedField{"PyTorchTrainingJob", "pytorchReplicaSpecs",
               "spec.replicaSpecs, a list of which each has its type"},
    MovedField{"PyTorchTrainingJob", "cleanUpPolicy", "spec.runPolicy.cleanUpPolicy"},
    MovedField{"PyTorchTrainingJob", "backoffLimit", "spec.runPolicy.backoffLimit"},
    MovedField{"PyTorchTrainingJob", "activeDeadlineSeconds",
               "spec.runPolicy.activeDeadlineSeconds"},
};

// ---- what comes of what it puts into pods ------------------------------------------------------

bool is_port_of_t9k(const StringMap& variables) {
  const auto port = variables.find("MASTER_PORT");
  return port != variables.end() && port->second == std::to_string(t9k::master_port);
}

// The argument behind that one; empty: there is none.
std::string_view argument_after(const std::vector<std::string>& arguments, std::string_view name) {
  const auto at = std::find(arguments.begin(), arguments.end(), name);
  return at == arguments.end() || at + 1 == arguments.end() ? std::string_view()
                                                            : std::string_view(*(at + 1));
}

// The two meanings of WORLD_SIZE (spec/t9k.md §4.2, §4.4): of pods in the container, of processes
// in what torchrun starts there.
std::vector<std::string> explain_world_size(const Container& container,
                                            const StringMap& variables) {
  const auto world = variables.find("WORLD_SIZE"), rank = variables.find("RANK");
  if (world == variables.end() || rank == variables.end() || !is_port_of_t9k(variables)) return {};
  if (variables.find("PYTHONUNBUFFERED") != variables.end() ||
      variables.find("PET_NNODES") != variables.end())
    return {};  // another operator's
  const std::vector<std::string>& command = *container.command;
  if (command.empty() || command.front() != "torchrun")
    return {
        fmt::format("WORLD_SIZE={} and RANK={} count pods: right where each pod is one process; "
                    "LOCAL_RANK is not set",
                    world->second.view(), rank->second.view())};
  const std::string_view each = argument_after(*container.args, "--nproc_per_node");
  const std::string_view nodes = argument_after(*container.args, "--nnodes");
  const auto count = whole_number<std::int64_t>(each), all = whole_number<std::int64_t>(nodes);
  std::string size = fmt::format("the agents that meet, {}, times {} processes", nodes, each);
  if (count && all)
    size = fmt::format("{}, {} agents times {} processes", *count * *all, nodes, each);
  return {fmt::format("WORLD_SIZE={} and RANK={} count pods: torchrun overwrites both, and "
                      "MASTER_ADDR and MASTER_PORT, for the processes that it starts; their "
                      "WORLD_SIZE is {}, their RANK one of the process",
                      world->second.view(), rank->second.view(), size),
          "ranks follow the agents' addresses and not the pods' indexes: rank 0 may run outside of "
          "the master's pod"};
}

// Its bindings come one after the other, as fast as its client may: a large gang starts in parts.
constexpr std::array t9k_schedulers{scenario::SchedulerRow{.name = "t9k-scheduler"}};

constexpr std::array t9k_readers{&scenario::training_job_reader};
constexpr std::array t9k_controllers{
    SystemController{"pytorchtrainingjob-controller", "pytorchtrainingjob"},
    SystemController{"tensorboard-controller", "tensorboard"},
    SystemController{"t9k-scheduler", "queue"}};
constexpr std::array<KindOf, 4> t9k_kinds{&PyTorchTrainingJob::info, &TensorBoard::info,
                                          &T9kPodGroup::info, &T9kQueue::info};
constexpr std::array<KindOf, 3> t9k_made_kinds{&TensorBoard::info, &T9kPodGroup::info,
                                               &T9kQueue::info};

}  // namespace

constinit const System t9k_system{
    .name = scenario::t9k_actor,
    .title = "T9k platform",
    .versions = &t9k_versions,
    .find_version = &find_t9k_version,
    .default_version = &default_t9k_version,
    .controllers = t9k_controllers,
    .rules = &t9k::rules::all,
    .kinds = t9k_kinds,
    .makes = t9k_made_kinds,
    .jobs = training_jobs,
    .states = training_words,
    .readers = t9k_readers,
    .schedulers = t9k_schedulers,
    .invariants = &scenario::t9k_invariants,
    .moved = t9k_moved_fields,
    .install = &install_t9k,
    .explain = &explain_world_size,
};

}  // namespace ddptwin
