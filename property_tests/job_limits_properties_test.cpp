// What a job may take: restarts, time, time to live after its end (spec/pytorchjob.md §4), for
// every job that the generator can make and every version.
#include <algorithm>
#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "running_job.hpp"

namespace ddptwin::property::job_limits_properties_test {
namespace {

namespace json = boost::json;

// The operator looks at the job again; nothing else comes of it.
void poke(ClusterRun& run, int time) {
  run.patch_job(json::object{{"metadata", {{"annotations", {{"poke", std::to_string(time)}}}}}});
}

// Those of a pod that runs, whichever of its containers they are of (§4.6, Q42).
TEST(JobLimits, RestartsOfInitContainersCountForTheLimit) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.master = true;
        shape.workers = std::max(1, shape.workers);
        shape.restart_policy = *gen::element<std::string>("OnFailure", "Always").as("policy");
        shape.backoff_limit = *gen::inRange(0, 4).as("limit");
        const int failures = *gen::inRange(0, 4).as("failures of an init container");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        RC_PRE(run.create(shape));
        std::string fails;
        for (int i = 0; i < failures; ++i) fails += "1 after 1, ";
        run.script("j-worker-0", "exit.init-pytorch", fails + "0 after 1");
        run.rest(2min);
        log_job(run);
        RC_PRE(run.ever("Running"));
        RC_ASSERT(run.conditions(true).contains("Failed") ==
                  (failures >= std::max(1, shape.backoff_limit)));
      },
      run_cost);
}

TEST(JobLimits, TheBackoffLimitIsReachedByThatManyRestarts) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.restart_policy = *gen::element<std::string>("OnFailure", "Always").as("policy");
        shape.backoff_limit = *gen::inRange(0, 4).as("limit");
        const Profile profile = *any_profile().as("version");
        ClusterRun run(any_seed(), profile);
        start(run, shape);
        const Names all = expected_names(shape, shape.workers);
        const int enough = std::max(1, shape.backoff_limit);
        for (int restarts = 1; restarts <= enough; ++restarts) {
          run.exit(*gen::elementOf(all).as("pod"), 1);
          run.rest(60s);
          log_job(run);
          RC_ASSERT(run.conditions(true).contains("Failed") == (restarts == enough));
        }
        const JobStatus& status = *run.job()->status;
        RC_ASSERT(status.completionTime.has_value());
        RC_ASSERT(status.condition("Failed")->message ==
                  "Job j has failed because it has reached the specified backoff limit");
        // Q5: until v1.9.4 the policy is not asked.
        const bool asked = profile.version == "v1.9.4" && shape.clean_pod_policy != "All" &&
                           shape.clean_pod_policy != "Running";
        RC_ASSERT(names_of(run.pods()) == (asked ? all : Names{}));
        RC_ASSERT(names_of(run.services()) == (asked ? all : Names{}));
      },
      run_cost);
}

// Q22: whoever it is, and though its policy would have it replaced.
TEST(JobLimits, UnderALimitOfNoneTheFirstPodThatFailsEndsTheJob) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.restart_policy = "ExitCode";
        shape.backoff_limit = 0;
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        run.exit(*gen::elementOf(expected_names(shape, shape.workers)).as("pod"),
                 *gen::element(130, 137, 143).as("code"));
        run.rest(60s);
        log_job(run);
        RC_ASSERT(run.conditions(true).contains("Failed"));
        RC_ASSERT(run.first_violation() == "");
      },
      run_cost);
}

// Q4: no clock wakes the operator; the first thing that happens afterwards does.
TEST(JobLimits, TheDeadlineCountsFromTheStartAndNeedsAWakeUp) {
  holds(
      [] {
        JobShape shape = plain_shape();
        const int deadline = shape.active_deadline_seconds = *gen::inRange(20, 60).as("deadline");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const Time started = *run.job()->status->startTime;
        run.rest(started + std::chrono::seconds(deadline) - 3s - run.now());
        poke(run, 1);
        run.rest(2s);
        RC_ASSERT(!run.conditions(true).contains("Failed"));
        run.rest(10s);
        RC_ASSERT(!run.conditions(true).contains("Failed"));
        poke(run, 2);
        run.rest(2s);
        RC_ASSERT(run.conditions(true).contains("Failed"));
        RC_ASSERT(run.job()->status->condition("Failed")->message ==
                  "Job j has failed because it was active longer than specified deadline");
      },
      run_cost);
}

// Whatever limit is passed afterwards, and whoever looks (§4.2: M4 comes before M8).
TEST(JobLimits, AJobThatIsOverIsJudgedNoMore) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.master = true;
        shape.restart_policy = "OnFailure";
        shape.backoff_limit = *gen::element(1, 3).as("limit");
        const int deadline = shape.active_deadline_seconds = *gen::inRange(30, 60).as("deadline");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const Time started = *run.job()->status->startTime;
        const bool fails = *gen::weightedElement<bool>({{2, false}, {1, true}}).as("fails");
        for (int restart = 0; restart < (fails ? shape.backoff_limit : 0); ++restart) {
          run.exit("j-master-0", 1);
          run.rest(30s);
        }
        if (!fails) run.exit("j-master-0", 0);
        run.rest(10s);
        const std::string type = fails ? "Failed" : "Succeeded";
        RC_ASSERT(run.conditions(true).contains(type));
        const std::string status = json::serialize(to_json(*run.job()->status));
        run.rest(std::max(Duration::zero(), started + std::chrono::seconds(deadline) - run.now()));
        for (int pokes = *gen::inRange(1, 4).as("pokes"); pokes > 0; --pokes) {
          poke(run, pokes);
          run.rest(*gen::element(2s, 60s).as("rest"));
          RC_ASSERT(json::serialize(to_json(*run.job()->status)) == status);
        }
      },
      run_cost);
}

TEST(JobLimits, AFinishedJobGoesWhenItsTimeToLiveIsOver) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.master = true;
        shape.restart_policy = *gen::element<std::string>("Never", "OnFailure").as("policy");
        const int ttl = shape.ttl_seconds = *gen::element(0, 5, 40).as("ttl");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        run.rest(20s);
        RC_ASSERT(!run.job_gone_at());
        const Time ended = run.now();
        run.exit("j-master-0", 0);
        run.rest(100s);
        RC_ASSERT(run.job_gone_at().has_value());
        const Duration lived = *run.job_gone_at() - ended;
        RC_LOG() << "gone after " << seconds_of(lived) << " s\n";
        // The end is seen within two ticks of the kubelet, and its time has no fractions.
        RC_ASSERT(lived >= std::chrono::seconds(ttl) - 1s);
        RC_ASSERT(lived <= std::chrono::seconds(ttl) + 4s);
        run.rest(settling);
        RC_ASSERT(run.pods().empty());
        RC_ASSERT(run.services().empty());
      },
      run_cost);
}

}  // namespace
}  // namespace ddptwin::property::job_limits_properties_test
