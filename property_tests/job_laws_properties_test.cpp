// What becomes of a job, on a machine where nothing goes wrong but what the property itself does:
// outcomes from a table that any user could write down (spec/pytorchjob.md §4), for every job that
// the generator can make and every version.
#include <fmt/format.h>

#include <algorithm>

#include "running_job.hpp"

namespace ddptwin::property::job_laws_properties_test {
namespace {

// FM-029: tools and gang schedulers find the master by its role.
void check_roles(const ClusterRun& run, const JobShape& shape, const Profile& profile) {
  Names leaders;
  for (const auto& [name, pod] : run.pods())
    if (const Text* role = pod->metadata.label("training.kubeflow.org/job-role")) {
      RC_ASSERT(*role == "master");
      leaders.insert(name);
    }
  if (shape.master)
    RC_ASSERT(leaders == Names{"j-master-0"});
  else
    RC_ASSERT(leaders == (is_old(profile) ? Names{} : Names{"j-worker-0"}));  // Q32
}

// --- one container ends ---

enum class Fate : std::uint8_t { goes_on, restarts_in_place, is_replaced, succeeds, fails, stuck };

Fate fate_of(const JobShape& shape, const Profile& profile, bool master, int code) {
  const std::string policy = policy_of(shape);
  if (policy == "Always" || (policy == "OnFailure" && code != 0)) return Fate::restarts_in_place;
  if (code == 0) {
    const bool last = master || (!shape.master && (shape.workers == 1 || shape.elastic));
    return last ? Fate::succeeds : Fate::goes_on;
  }
  if (policy == "Never") return Fate::fails;
  if (code >= 128) return Fate::is_replaced;
  return is_old(profile) ? Fate::stuck : Fate::fails;  // Q2
}

// Which pods are left of a job that is over; services are counted by pods (Q15).
Names left_over(const JobShape& shape, const std::string& ended) {
  if (shape.clean_pod_policy == "All") return {};
  if (shape.clean_pod_policy == "Running") return {ended};
  return expected_names(shape, shape.workers);
}

void check_over(const ClusterRun& run, const JobShape& shape, const std::string& type,
                const std::string& ended) {
  RC_ASSERT(run.conditions(true) == (Names{"Created", type}));
  RC_ASSERT(run.conditions(false) == (Names{"Running"}));
  RC_ASSERT(names_of(run.pods()) == left_over(shape, ended));
  RC_ASSERT(names_of(run.services()) == left_over(shape, ended));
}

TEST(JobLaws, OneExitCodeDecidesByPolicyAndVersion) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        const Profile profile = *any_profile().as("version");
        ClusterRun run(any_seed(), profile);
        start(run, shape);
        check_roles(run, shape, profile);
        const auto before = uids_of(run.pods());
        const Names all = expected_names(shape, shape.workers);
        const std::string ended = *gen::elementOf(all).as("pod");
        const int code = *gen::element(0, 0, 1, 2, 127, 128, 129, 137, 143, 255).as("exit code");
        run.exit(ended, code);
        run.rest(settling);
        log_job(run);
        const auto pods = run.pods();
        const Fate fate = fate_of(shape, profile, ended == "j-master-0", code);
        const auto& job = *run.job();
        if (fate == Fate::succeeds) return check_over(run, shape, "Succeeded", ended);
        if (fate == Fate::fails) {
          check_over(run, shape, "Failed", ended);
          // Q3: the end by a permanent exit code has no time.
          RC_ASSERT(job.status->completionTime.has_value() == (policy_of(shape) == "Never"));
          return;
        }
        RC_ASSERT(!job.status->completionTime);
        auto after = uids_of(pods);
        if (fate == Fate::is_replaced) {
          RC_ASSERT(after.at(ended) != before.at(ended));
          after[ended] = before.at(ended);
          RC_ASSERT(run.ever("Restarting"));
        }
        RC_ASSERT(after == before);
        if (fate == Fate::stuck) return;
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        RC_ASSERT(pods.at(ended)->status.phase ==
                  (fate == Fate::goes_on ? "Succeeded" : "Running"));
        RC_ASSERT(pods.at(ended)->status.containerStatuses.front().restartCount ==
                  (fate == Fate::restarts_in_place ? 1 : 0));
        check_counters(run);
      },
      2);
}

// Of an elastic one the first is enough: the others are told so by its agents (§7, FM-022).
TEST(JobLaws, AWorkerOnlyJobSucceedsWithItsLastWorkerAnElasticOneWithItsFirst) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.master = false;
        shape.elastic = *gen::arbitrary<bool>().as("elastic");
        shape.workers = std::max(1, shape.workers);
        if (shape.restart_policy == "Always") shape.restart_policy = "Never";
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const int enough = shape.elastic ? 1 : shape.workers;
        for (int i = 0; i < enough; ++i) {
          RC_ASSERT(!run.job()->status->completionTime);
          run.exit("j-worker-" + std::to_string(i), 0);
          run.rest(5s);
        }
        log_job(run);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Succeeded"}));
        // Those that still run count as well (Q25).
        RC_ASSERT(run.job()->status->replicaStatuses->at("Worker").succeeded == shape.workers);
      },
      run_cost);
}

bool told_of_job(ClusterRun& run, const std::string& beginning) {
  for (const ObjectPtr& one : run.world().objects(ddptwin::Event::info(), "default")) {
    const auto& event = static_cast<const ddptwin::Event&>(*one);
    if (event.involvedObject->kind == "PyTorchJob" && event.message.starts_with(beginning))
      return true;
  }
  return false;
}

// With init containers before it or without (§5.4).
TEST(JobLaws, AContainerThatCannotStayUpIsToldOfTheJob) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.restart_policy = "OnFailure";
        RC_PRE(policy_of(shape) == "OnFailure");
        const Names all = expected_names(shape, shape.workers);
        const std::string sick = *gen::elementOf(all).as("pod");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        run.script(sick, "exit.pytorch", "1 after " + std::to_string(*gen::inRange(1, 9).as("s")));
        RC_ASSERT(run.create(shape));
        run.rest(3min);
        log_job(run);
        RC_PRE(!run.pods().empty());  // of v1.7's jobs that crash it
        for (const std::string& name : all)
          RC_ASSERT(told_of_job(run, "Error pod " + name + " container pytorch ") ==
                    (name == sick));
      },
      run_cost);
}

// Workers that have ended well decide nothing where there is a master (§4.9).
TEST(JobLaws, AMasterJobSucceedsWithItsMasterAlone) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.master = true;
        shape.workers = std::max(1, shape.workers);
        if (shape.restart_policy == "Always") shape.restart_policy = "Never";
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        for (int i = 0; i < shape.workers; ++i) run.exit("j-worker-" + std::to_string(i), 0);
        run.rest(10s);
        log_job(run);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        check_counters(run);
        run.exit("j-master-0", 0);
        run.rest(10s);
        log_job(run);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Succeeded"}));
      },
      2 * run_cost);
}

// Evicted by its node, or past a deadline of its own: Failed although its policy restarts it
// (FM-019).
TEST(JobLaws, APodThatItsNodeFailsIsReplacedUnlessThePolicyIsNever) {
  holds(
      [] {
        JobShape shape = plain_shape();
        const std::string policy = policy_of(shape);
        // Who is replaced counts for no limit (Q1).
        shape.backoff_limit = *gen::element(-1, 1, 2).as("limit");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        RC_PRE(run.create(shape, {}, [](PyTorchJob& job) {
          for (auto& [type, replica] : *job.spec.edit().pytorchReplicaSpecs)
            replica.template_.spec.edit().activeDeadlineSeconds = 20;
        }));
        run.rest(start_up);
        RC_PRE(!run.pods().empty());
        const auto before = uids_of(run.pods());
        run.rest(15s);
        log_job(run);
        if (policy == "Never") {
          RC_ASSERT(run.conditions(true).contains("Failed"));
          return;
        }
        // By the exit code of what was killed, 143, under ExitCode.
        RC_ASSERT(run.ever("Restarting"));
        RC_ASSERT(!run.conditions(true).contains("Failed"));
        const auto after = uids_of(run.pods());
        for (const auto& [name, uid] : before) RC_ASSERT(after.at(name) != uid);
      },
      run_cost);
}

// Q8: who is being deleted while it runs has failed.
TEST(JobLaws, UnderNeverAPodThatIsDeletedFailsTheJob) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.restart_policy = "Never";
        ClusterRun run(any_seed(), *any_profile().as("version"));
        const Names all = expected_names(shape, shape.workers);
        for (const std::string& name : all) run.script(name, "term.pytorch", "0 after 5");
        start(run, shape);
        run.remove(*run.pods().at(*gen::elementOf(all).as("deleted")));
        run.rest(3s);
        log_job(run);
        RC_ASSERT(run.conditions(true).contains("Failed"));
      },
      2 * run_cost);
}

// FM-032: who waits for its start is no better than who runs.
TEST(JobLaws, PolicyRunningTakesPendingPodsToo) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.master = true;
        shape.workers = std::max(1, shape.workers);
        shape.restart_policy = "Never";
        shape.clean_pod_policy = "Running";
        ClusterRun run(any_seed(), *any_profile().as("version"));
        RC_PRE(run.create(shape));
        for (int i = 0; i < shape.workers; ++i)
          run.script("j-worker-" + std::to_string(i), "exit.init-pytorch", "0 after 1000");
        run.rest(start_up);
        RC_PRE(!run.pods().empty());
        RC_ASSERT(run.pods().at("j-worker-0")->status.phase == "Pending");
        run.exit("j-master-0", 0);
        run.rest(settling);
        check_over(run, shape, "Succeeded", "j-master-0");
      },
      2 * run_cost);
}

// Those of the training container, whatever others its pods have (§3.2).
TEST(JobLaws, AServiceHasThePortsOfTheTrainingContainer) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        std::map<std::string, std::int32_t> wanted;
        for (const std::string port : {"metrics", "profiler", "pytorchjob-port"})
          if (*gen::arbitrary<bool>().as(port)) wanted[port] = *gen::inRange(1000, 1005).as("port");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        RC_PRE(run.create(shape, {}, [&](PyTorchJob& job) {
          for (auto& [type, replica] : *job.spec.edit().pytorchReplicaSpecs) {
            auto& containers = replica.template_.spec.edit().containers.edit();
            containers.front().ports = {};
            for (const auto& [name, number] : wanted)
              containers.front().ports.edit().push_back({.name = name, .containerPort = number});
            Container beside;
            beside.name = "beside";
            beside.image = "busybox";
            beside.ports = {{.name = "side", .containerPort = 9000}};
            containers.insert(containers.begin() + *gen::inRange(0, 2).as("place"),
                              std::move(beside));
          }
        }));
        run.rest(start_up);
        wanted.emplace("pytorchjob-port", 23456);
        for (const auto& [name, service] : run.services()) {
          std::map<std::string, std::int32_t> ports;
          for (const ServicePort& port : service->spec->ports) ports[port.name] = port.port;
          RC_ASSERT(ports == wanted);
        }
      },
      run_cost);
}

// --- suspend, scale ---

TEST(JobLaws, ASuspendedJobHasNothingAndBeginsAnewWhenResumed) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const Time started = *run.job()->status->startTime;
        if (shape.workers > 1 && !shape.elastic && policy_of(shape) != "Always" &&
            *gen::arbitrary<bool>().as("a worker is done before")) {
          run.exit(fmt::format("j-worker-{}", shape.workers - 1), 0);
          run.rest(settling);
        }
        const auto counted = *run.job()->status->replicaStatuses;
        suspend(run, true);
        for (const auto& [type, counters] : *run.job()->status->replicaStatuses) {
          RC_ASSERT(counters.active == 0);
          RC_ASSERT(counters.succeeded == counted.at(type).succeeded);
          RC_ASSERT(counters.failed == counted.at(type).failed);
          RC_ASSERT(*counters.selector == *counted.at(type).selector);
        }
        RC_ASSERT(run.pods().empty());
        RC_ASSERT(run.services().empty());
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Suspended"}));
        RC_ASSERT(run.conditions(false) == (Names{"Running"}));
        RC_ASSERT(run.job()->status->condition("Running")->reason == "PyTorchJobSuspended");
        RC_ASSERT(run.job()->status->startTime == started);  // Q18
        check_counters(run);
        const Time resumed = run.now();
        suspend(run, false);
        RC_ASSERT(names_of(run.pods()) == expected_names(shape, shape.workers));
        RC_ASSERT(names_of(run.services()) == expected_names(shape, shape.workers));
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        RC_ASSERT(run.conditions(false) == (Names{"Suspended"}));
        RC_ASSERT(*run.job()->status->startTime >= resumed.floor_seconds());
        RC_ASSERT(*run.job()->status->startTime <= resumed + 2s);
        check_counters(run);
      },
      run_cost);
}

// What has failed stays counted while the job is suspended: a running pod that is being deleted
// counts as failed (§4.5).
TEST(JobLaws, ASuspendedJobKeepsTheCountOfItsFailures) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.workers = std::max(1, shape.workers);
        RC_PRE(policy_of(shape) != "Never");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        run.script("j-worker-0", "term.pytorch", "0 after 20");
        start(run, shape);
        run.remove(*run.pods().at("j-worker-0"));
        run.rest(5s);
        const auto counters = [&run] { return run.job()->status->replicaStatuses->at("Worker"); };
        RC_ASSERT(counters().failed == 1);
        suspend(run, true);
        RC_ASSERT(run.pods().empty());
        RC_ASSERT(counters().failed == 1);
        RC_ASSERT(counters().active == 0);
      },
      run_cost);
}

TEST(JobLaws, AJobThatIsMadeSuspendedMakesNothing) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        ClusterRun run(any_seed(), *any_profile().as("version"));
        RC_PRE(run.create(shape, {},
                          [](PyTorchJob& job) { job.spec.edit().runPolicy.suspend = true; }));
        run.rest(start_up);
        log_job(run);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Suspended"}));
        RC_ASSERT(!run.job()->status->startTime);
        for (const std::string& name : expected_names(shape, shape.workers))
          for (const char* kind : {"pods", "services"})
            RC_ASSERT(run.creations(kind, "default/" + name) == 0);
      },
      2 * run_cost);
}

// What its author wrote of init containers stays, in front of the one that waits for the master
// (§2.4).
TEST(JobLaws, TheAuthorsInitContainersComeFirst) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        const int written = *gen::inRange(0, 3).as("init containers");
        const Profile profile = *any_profile().as("version");
        ClusterRun run(any_seed(), profile);
        RC_PRE(run.create(shape, {}, [&](PyTorchJob& job) {
          for (auto& [type, replica] : *job.spec.edit().pytorchReplicaSpecs)
            for (int i = 0; i < written; ++i) {
              Container container;
              container.name = "fetch-" + std::to_string(i);
              container.image = "busybox";
              replica.template_.spec.edit().initContainers.edit().push_back(container);
            }
        }));
        run.rest(start_up);
        const auto pods = run.pods();
        if (pods.empty()) {
          RC_ASSERT(is_old(profile));  // it crashes on some jobs
          RC_DISCARD();
        }
        RC_ASSERT(names_of(pods) == expected_names(shape, shape.workers));
        for (const auto& [name, pod] : pods) {
          std::vector<std::string> seen, wanted;
          for (const Container& container : pod->spec->initContainers)
            seen.push_back(container.name);
          for (int i = 0; i < written; ++i) wanted.push_back("fetch-" + std::to_string(i));
          if (shape.master && name != "j-master-0") wanted.emplace_back("init-pytorch");
          RC_ASSERT(seen == wanted);
        }
      },
      run_cost);
}

// --- lost nodes ---

// The pods of a node that is silent are to go after 40 s and their 300 s; those of all nodes stay:
// then it is the control plane that is cut off (upstream's full disruption).
TEST(JobLaws, OfALostNodeThePodsGoUnlessNoNodeIsLeft) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.workers = 4;
        shape.restart_policy = "OnFailure";
        const bool all = *gen::arbitrary<bool>().as("all nodes are lost");
        scenario::FaultPlan plan;
        for (const std::string node : {"n0", "n1"}) {
          if (node == "n1" && !all) continue;
          scenario::Fault fault;
          fault.kind = scenario::FaultKind::node_lost;
          fault.of = node;
          fault.at = 60s;
          plan.faults.push_back(std::move(fault));
        }
        ClusterRun run(any_seed(), *any_profile().as("version"), plan);
        start(run, shape);
        std::map<std::string, std::string> where;
        for (const auto& [name, pod] : run.pods()) where[name] = pod->spec->nodeName;
        run.rest(60s + 40s + 300s + 60s);
        for (const auto& [name, pod] : run.pods()) {
          if (!where.contains(name)) continue;
          const bool goes = !all && where.at(name) == "n0";
          RC_LOG() << name << " on " << where.at(name) << "\n";
          RC_ASSERT(pod->metadata.deletionTimestamp.has_value() == goes);
        }
      },
      run_cost);
}

}  // namespace
}  // namespace ddptwin::property::job_laws_properties_test
