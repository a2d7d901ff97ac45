// What Kubernetes itself has of workloads, as a row: StatefulSet (spec/kubernetes.md §4) and Job
// (spec/trainjob.md §6). Their controllers are kube-controller-manager's (scenario/world).
#include <fmt/format.h>

#include <array>

#include "controller/manager/job/rules.hpp"
#include "objects/apps_v1.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/job/parts.hpp"
#include "scenario/systems/statefulset/parts.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

int wanted_replicas(const StatefulSet& set) { return set.spec->replicas.value_or(1); }

// As `kubectl rollout status` waits for it, and what is more than wanted is gone.
bool set_stands(const Object& object) {
  const StatefulSet& set = *as<StatefulSet>(object);
  const StatefulSetStatus& status = set.status;
  const int wanted = wanted_replicas(set);
  if (status.observedGeneration < set.metadata.generation || status.replicas != wanted ||
      status.readyReplicas != wanted)
    return false;
  const StatefulSetUpdateStrategy& strategy = set.spec->updateStrategy;
  if (strategy.type_ != "RollingUpdate") return true;
  const int kept = strategy.rollingUpdate ? strategy.rollingUpdate->partition.value_or(0) : 0;
  return kept > 0 ? status.updatedReplicas >= wanted - kept
                  : status.updateRevision == status.currentRevision;
}

std::string set_text(const Object& object) {
  const StatefulSet& set = *as<StatefulSet>(object);
  const StatefulSetStatus& status = set.status;
  std::string text =
      fmt::format("{} of {} replicas Ready", status.readyReplicas, wanted_replicas(set));
  if (status.updateRevision != status.currentRevision)
    text += fmt::format(", {} of the newest template", status.updatedReplicas);
  return text;
}

PodTemplateSpec& set_pods(Object& object) {
  return static_cast<StatefulSet&>(object).spec.edit().template_;
}

constexpr std::array own_standing{
    scenario::StandingKind{&StatefulSet::info, &set_stands, &set_text, &set_pods}};

constexpr std::array<std::string_view, 2> job_suspend{"spec", "suspend"};
constexpr std::array own_jobs{scenario::JobKind{&Job::info, &scenario::conditions_of_job,
                                                "Complete", "Failed", "Suspended", job_suspend}};

// spec/trainjob.md §6.3, §6.7.
constexpr std::array<std::string_view, 5> job_conditions{"Complete", "Failed", "FailureTarget",
                                                         "SuccessCriteriaMet", "Suspended"};
constexpr std::array own_states{
    scenario::StatusWords{.info = &Job::info, .conditions = job_conditions}};

constexpr std::array own_readers{&scenario::job_reader, &scenario::statefulset_reader};

// Each kind's judges read objects of that kind alone.
std::span<const scenario::InvariantRow> own_invariants() {
  static const std::vector<scenario::InvariantRow> all = [] {
    std::vector<scenario::InvariantRow> rows;
    const auto add = [&rows](std::span<const scenario::InvariantRow> of, KindOf kind) {
      for (scenario::InvariantRow row : of) {
        row.kind = kind;
        rows.push_back(row);
      }
    };
    add(scenario::job_invariants(), &Job::info);
    add(scenario::statefulset_invariants(), &StatefulSet::info);
    return rows;
  }();
  return all;
}

constexpr std::array own_controllers{SystemController{"job-controller", "job"}};

}  // namespace

constinit const System kubernetes_itself{
    .name = manager_actor,
    .title = "controllers of Jobs and StatefulSets",
    .controllers = own_controllers,
    .rules = &controller::job::rules::all,
    .jobs = own_jobs,
    .standing = own_standing,
    .states = own_states,
    .readers = own_readers,
    .invariants = &own_invariants,
};

}  // namespace ddptwin
