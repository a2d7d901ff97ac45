// The same things happen twice: once on a quiet machine, once with a crash between two writes, with
// slow calls, with watches that are late or begin anew. The world ends alike. No model is needed.
//
// What upstream's own memory makes different, and is therefore not compared:
// - the order of conditions: a crash before the first status write puts Created last (Q23);
// - events, and how often a pass ran (Q13, Q37);
// - the counters of a job that is over: they stay as its last pass found them (Q25);
// - Services of a job that is over or suspended: its clean-up goes by the pods that are left (Q15),
//   so a crash after a pod's deletion leaves that pod's Service for good;
// - limits: no clock wakes the operator, so a crash may be what ends a job at its deadline (Q4),
//   and pods of a job that reached one may be made again before its end is in the cache (Q37); none
//   are set;
// - pods that are deleted under policy Never: seen while they go they fail the job, seen gone they
//   are made again (Q8); nobody deletes one;
// - uids, addresses and times.
#include <algorithm>
#include <ostream>

#include "property.hpp"
#include "world_plan.hpp"

namespace ddptwin::property::metamorphic_properties_test {
namespace {

using scenario::Fault;
using scenario::FaultKind;

constexpr int run_cost = 6;
constexpr Duration afterwards = 30min;

// What a user sees in the end, by object.
using End = std::map<std::string, std::string>;

void add_job(End& end, const ClusterRun& run, const JobName& name) {
  const std::string key = name.namespace_ + "/" + name.name;
  const auto job = run.job(name);
  if (!job) return;
  std::string& text = end["job " + key];
  for (const std::string& type : run.conditions(true, name)) text += " " + type;
  text += ", not";
  for (const std::string& type : run.conditions(false, name)) text += " " + type;
  const bool over = run.conditions(true, name).contains("Failed") ||
                    run.conditions(true, name).contains("Succeeded");
  if (!over && job->status && job->status->replicaStatuses)
    for (const auto& [type, counters] : *job->status->replicaStatuses)
      text += ", " + type + " " + std::to_string(counters.active) + " active " +
              std::to_string(counters.succeeded) + " succeeded " + std::to_string(counters.failed) +
              " failed";
  for (const auto& [pod_name, pod] : run.pods(name)) {
    std::string& state = end["pod " + name.namespace_ + "/" + pod_name];
    state = pod->status.phase;
    for (const ContainerStatus& status : pod->status.containerStatuses)
      state += ", " + std::to_string(status.restartCount) + " restarts";
    if (pod->metadata.deletionTimestamp) state += ", terminating";
  }
  // Of a job that is to be suspended Services without a pod may stay (Q15), also where v1.8.0 never
  // says that it is, because of a ttlSecondsAfterFinished.
  if (over || job->spec->runPolicy.suspend || run.conditions(true, name).contains("Suspended"))
    return;
  for (const auto& [service_name, service] : run.services(name))
    end["service " + name.namespace_ + "/" + service_name] = "there";
}

End end_of(const WorldPlan& plan) {
  ClusterRun run(plan.seed, plan.profile, plan.faults);
  for (const WorldEvent& event : plan.events) apply(run, plan, event);
  run.heal();
  run.rest(afterwards);
  End end;
  for (const JobName& name : job_names()) add_job(end, run, name);
  return end;
}

void same_end(const WorldPlan& plan, const std::vector<Fault>& faults) {
  WorldPlan disturbed = plan;
  disturbed.faults.faults = faults;
  RC_LOG() << "disturbed:\n";
  RC_ASSERT(end_of(disturbed) == end_of(plan));
}

Fault fault_of(FaultKind kind, const std::string& of = {}) {
  Fault fault;
  fault.kind = kind;
  fault.of = of;
  return fault;
}

TEST(MetamorphicProperties, ACrashOfTheOperatorBetweenAnyTwoWritesChangesNoEnd) {
  holds(
      [] {
        const WorldPlan plan = *quiet_plan().as("world");
        Fault crash = fault_of(FaultKind::controller_crash, "training-operator");
        crash.nth = *gen::inRange(1, 60).as("after this write");
        crash.lasts = std::chrono::seconds(*gen::element(0, 0, 5).as("seconds away"));
        same_end(plan, {crash});
      },
      run_cost);
}

TEST(MetamorphicProperties, ACrashOfTheControllerManagerChangesNoEnd) {
  holds(
      [] {
        const WorldPlan plan = *quiet_plan().as("world");
        Fault crash = fault_of(FaultKind::controller_crash, "kube-controller-manager");
        crash.nth = *gen::inRange(1, 60).as("after this write");
        same_end(plan, {crash});
      },
      2 * run_cost);
}

TEST(MetamorphicProperties, SlowCallsChangeNoEnd) {
  holds(
      [] {
        const WorldPlan plan = *quiet_plan().as("world");
        Fault slow = fault_of(FaultKind::api_latency,
                              *gen::element<std::string>("", "training-operator", "kubelet",
                                                         "kube-controller-manager")
                                   .as("of"));
        slow.delay = std::chrono::milliseconds(*gen::element(1, 10, 200).as("delay"));
        slow.lasts = 24h;
        slow.at = 0s;
        same_end(plan, {slow});
      },
      run_cost);
}

TEST(MetamorphicProperties, LateAndBrokenWatchesChangeNoEnd) {
  holds(
      [] {
        const WorldPlan plan = *quiet_plan().as("world");
        std::vector<Fault> faults;
        for (int n = *gen::inRange(1, 4).as("faults"); n > 0; --n) {
          Fault fault = fault_of(
              *gen::element(FaultKind::watch_delay, FaultKind::watch_relist, FaultKind::watch_drop),
              *gen::element<std::string>("training-operator", "kube-scheduler", "kubelet",
                                         "kube-controller-manager"));
          fault.nth = *gen::inRange(1, 80);
          faults.push_back(fault);
        }
        same_end(plan, faults);
      },
      run_cost);
}

TEST(MetamorphicProperties, OtherLanesChangeNoEnd) {
  holds(
      [] {
        const WorldPlan plan = *quiet_plan().as("world");
        WorldPlan other = plan;
        other.seed += 1;
        RC_ASSERT(end_of(other) == end_of(plan));
      },
      run_cost);
}

// Of the first job alone, which is there.
void live_through(ClusterRun& run, const WorldPlan& plan) {
  for (const WorldEvent& event : plan.events)
    if (event.job == 0 && event.kind != WorldEvent::Kind::create_job &&
        event.kind != WorldEvent::Kind::remove_job)
      apply(run, plan, event);
}

// Made with the very spec that was read of it, in the same processes, which may have crashed while
// it was there, and when it was gone: nothing of what they know of its namesake is used.
TEST(MetamorphicProperties, ANamesakeThatIsGoneChangesNoEnd) {
  holds(
      [] {
        WorldPlan plan = *quiet_plan().as("world");
        const JobShape& shape = plan.shapes.front();
        WorldPlan past = plan;
        past.events = (*quiet_plan().as("and before it")).events;
        // What was patched is read as another text, and stays no longer what was worked out of it.
        if (*gen::arbitrary<bool>().as("nothing happens to it")) past.events.clear();
        if (shape.workers == 0)
          std::erase_if(past.events,
                        [](const auto& one) { return one.kind == WorldEvent::Kind::scale; });
        ClusterRun second(plan.seed, plan.profile), only(plan.seed, plan.profile);
        const Time begin = second.now();
        RC_PRE(second.create(shape));
        second.rest(20s);
        live_through(second, past);
        const auto read = second.job();
        if (read == nullptr) return;  // its time to live is over
        const auto crash = [&second](const char* when) {
          if (!*gen::arbitrary<bool>().as(when)) return;
          (void)second.world().crash_controller("training-operator");
          second.rest(2s);
          (void)second.world().start_controller("training-operator");
        };
        crash("crash before it goes");
        second.remove(*read);
        RC_ASSERT(second.job() == nullptr);
        if (*gen::arbitrary<bool>().as("later")) {
          second.rest(10min);
          RC_ASSERT(second.pods().empty());
          crash("crash when it is gone");
        }
        only.rest(second.now() - begin);
        for (ClusterRun* run : {&second, &only}) {
          RC_ASSERT(run->create(shape, {}, [&](PyTorchJob& job) { job.spec = read->spec; }));
          // Their names are free by then, and tried again.
          run->rest(20min);
          live_through(*run, plan);
          run->rest(afterwards);
        }
        End ends[2];
        add_job(ends[0], second, {});
        add_job(ends[1], only, {});
        RC_ASSERT(ends[0] == ends[1]);
      },
      2 * run_cost);
}

// What was made is not tried again and again while nobody has seen it (FM-055). Once more it may
// be: one satisfied expectation of many opens the gate (Q13).
TEST(MetamorphicProperties, WhatALateWatchHidesIsNotMadeOverAndOver) {
  holds(
      [] {
        WorldPlan plan = *quiet_plan().as("world");
        Fault late = fault_of(FaultKind::watch_delay, "training-operator");
        late.delay = 20s;
        late.lasts = 10s;
        late.at = 0s;
        late.object_kind = "Pod";
        Fault services = late;
        services.object_kind = "Service";
        ClusterRun run(plan.seed, plan.profile, {.faults = {late, services}});
        RC_PRE(run.create(plan.shapes.front()));
        run.rest(9s);
        for (const auto& [name, pod] : run.pods())
          RC_ASSERT(run.creations("pods", "default/" + name) <= 2);
      },
      run_cost);
}

}  // namespace
}  // namespace ddptwin::property::metamorphic_properties_test
