// What Kubernetes itself has of workloads, as a row: StatefulSet (spec/kubernetes.md §4), Job
// (spec/trainjob.md §6) and CronJob. Their controllers are kube-controller-manager's
// (scenario/world).
#include <fmt/format.h>

#include <array>

#include "controller/host.hpp"
#include "controller/manager/cronjob/controller.hpp"
#include "controller/manager/job/rules.hpp"
#include "objects/apps_v1.hpp"
#include "objects/cron_schedule.hpp"
#include "objects/cronjob.hpp"
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

bool is_off(const CronJob& job) { return job.spec->suspend.value_or(false); }

// Nothing is at work, and what was begun last did not succeed.
bool last_job_failed(const CronJob& job) {
  const CronJobStatus& status = job.status;
  return status.lastScheduleTime && status.active.empty() &&
         status.lastSuccessfulTime < status.lastScheduleTime;
}

// Its last Job has succeeded, and none has failed since. One that is suspended owes no Job.
bool cron_stands(const Object& object) {
  const CronJob& job = *as<CronJob>(object);
  return !last_job_failed(job) && (is_off(job) || job.status.lastSuccessfulTime);
}

// When its first Job is due, in words.
std::string first_of(const CronJob& job) {
  const auto schedule = CronSchedule::parse(job.spec->schedule);
  const TimeZone* zone = TimeZone::find(job.spec->timeZone.value_or("UTC"));
  if (!schedule || zone == nullptr || !job.metadata.creationTimestamp) return "never";
  const auto first = schedule->next(*job.metadata.creationTimestamp, *zone);
  return first ? "first at " + format_rfc3339(*first) : "never";
}

std::string cron_text(const Object& object) {
  const CronJob& job = *as<CronJob>(object);
  const CronJobStatus& status = job.status;
  const std::string_view off = is_off(job) ? "suspended, " : "";
  if (!status.lastScheduleTime)
    return fmt::format("{}has made no Job yet: by its schedule \"{}\" {}", off, job.spec->schedule,
                       first_of(job));
  std::string text =
      fmt::format("{}last made a Job at {}", off, format_rfc3339(*status.lastScheduleTime));
  if (!status.active.empty()) text += fmt::format(", {} of its Jobs at work", status.active.size());
  if (last_job_failed(job)) text += ", which has not succeeded";
  return text;
}

PodTemplateSpec& cron_pods(Object& object) {
  return static_cast<CronJob&>(object).spec.edit().jobTemplate.spec.edit().template_;
}

// At a time of its own for each version of it.
std::shared_ptr<Object> cron_one(const Object& object) {
  const CronJob& job = *as<CronJob>(object);
  if (is_off(job)) return nullptr;
  const Time made = job.metadata.creationTimestamp.value_or(Time());
  return controller::cronjob::make_job(job, made + job.metadata.generation * Duration(1min));
}
constexpr scenario::MadeByTheClock cron_jobs{&Job::info, &cron_one, "cronjob-controller"};

constexpr std::array own_standing{
    scenario::StandingKind{&StatefulSet::info, &set_stands, &set_text, &set_pods},
    scenario::StandingKind{&CronJob::info, &cron_stands, &cron_text, &cron_pods,
                           "successful in its last Job", &cron_jobs}};

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

std::span<const controller::Rule* const> own_rules() {
  static const std::vector<const controller::Rule*> rules = [] {
    const auto of_job = controller::job::rules::all(), of_cron_job = controller::cronjob::rules();
    std::vector<const controller::Rule*> all(of_job.begin(), of_job.end());
    all.insert(all.end(), of_cron_job.begin(), of_cron_job.end());
    all.push_back(&controller::await_own_writes);
    return all;
  }();
  return rules;
}

constexpr std::array own_controllers{SystemController{"job-controller", "job"},
                                     SystemController{"cronjob-controller", "cronjob"}};

}  // namespace

constinit const System kubernetes_itself{
    .name = manager_actor,
    .title = "controllers of Jobs and StatefulSets",
    .controllers = own_controllers,
    .rules = &own_rules,
    .jobs = own_jobs,
    .standing = own_standing,
    .states = own_states,
    .readers = own_readers,
    .invariants = &own_invariants,
};

}  // namespace ddptwin
