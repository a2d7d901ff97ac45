#include "scenario/explore/explorer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "scenario/explore/points.hpp"
#include "scenario/language/fault_parser.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario/language/files.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::explorer_test {
namespace {

// A retryable code restarts a worker for ever: upstream does not count those restarts against the
// backoffLimit (Q1, FM-001).
constexpr const char* bounded_job = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: bounded}
spec: {modes: [virtual]}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  runPolicy: {backoffLimit: 1}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: ExitCode
      template:
        spec:
          containers:
          - name: pytorch
            image: ddptwin-worker
            args: [--steps, "8", --step-time, 3s]
)";

std::string bounded_job_with(const std::string& spec) {
  std::string text = bounded_job;
  constexpr std::string_view before = "{modes: [virtual]}";
  return text.replace(text.find(before), before.size(), spec);
}

Subject subject_of(const std::string& text) {
  auto subject =
      Subject::open("bounded.yaml", [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(subject) << subject.error().text();
  return std::move(*subject);
}

ExploreOptions options_of(std::string_view kinds, std::uint64_t runs) {
  ExploreOptions options;
  options.kinds = *parse_fault_kinds(kinds);
  options.runs = runs;
  return options;
}

std::vector<std::string> words_of(const Explored& explored) {
  std::vector<std::string> words;
  for (const Finding& finding : explored.findings) {
    words.push_back(finding.failure.what + " " + std::to_string(finding.run) + " " +
                    std::to_string(finding.runs_failed) + " " + std::to_string(finding.world_seed));
    for (const Fault& fault : finding.plan.faults) words.push_back(to_yaml(fault));
  }
  return words;
}

TEST(Explorer, finds_a_known_bug_and_its_smallest_cause) {
  const Subject subject = subject_of(bounded_job);
  ExploreOptions options = options_of("process-kill,watch-delay", 60);
  options.strict = true;
  const auto explored = explore(subject, options, nullptr);
  ASSERT_TRUE(explored) << explored.error().text();
  EXPECT_EQ(explored->demand.due, std::vector<std::string>{"default/train"});
  // Faults are drawn from the job's own life of eight steps, not from the quiet behind it.
  EXPECT_NEAR(seconds_of(explored->undisturbed), 8 * 3, 1);
  const auto found =
      std::find_if(explored->findings.begin(), explored->findings.end(),
                   [](const Finding& f) { return f.failure.what == "backoff-limit"; });
  ASSERT_NE(found, explored->findings.end());
  EXPECT_TRUE(found->minimal);
  EXPECT_GT(found->faults_before, found->plan.faults.size());
  // Restarts beyond the limit take more kills than the limit.
  ASSERT_EQ(found->plan.faults.size(), 2U);
  for (const Fault& fault : found->plan.faults)
    EXPECT_EQ(fault.kind, FaultKind::process_kill) << to_yaml(fault);

  // Its file does the same.
  const std::string text =
      subject.text(explored->demand, found->plan, found->world_seed, "two\nlines", "");
  EXPECT_TRUE(text.starts_with("# two\n# lines\napiVersion")) << text;
  const KindRegistry kinds;
  const auto again = parse_scenario("again.yaml", kinds,
                                    [&](const std::string&) { return Result<std::string>(text); });
  ASSERT_TRUE(again) << again.error().text() << text;
  EXPECT_EQ(again->faults.faults, found->plan.faults);
  EXPECT_EQ(again->seed, found->world_seed);
  const auto result = run_virtually(*again, {.seed = *again->seed});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->passed());
  EXPECT_TRUE(
      std::any_of(result->invariants.begin(), result->invariants.end(), [](const auto& one) {
        return one.name == "backoff-limit" && one.verdict == Verdict::failed;
      }));
}

// The operator counts a creation as done that timed out, and comes back to the job with its resync.
TEST(Explorer, a_job_whose_calls_time_out_has_until_after_the_resync) {
  const Subject subject = subject_of(bounded_job);
  const auto process = explore(subject, options_of("process", 1), nullptr);
  ASSERT_TRUE(process) << process.error().text();
  EXPECT_EQ(process->demand.within, std::chrono::hours(6));
  const auto timeouts = explore(subject, options_of("api-timeout", 200), nullptr);
  ASSERT_TRUE(timeouts) << timeouts.error().text();
  EXPECT_EQ(timeouts->demand.within, std::chrono::hours(17));
  for (const auto& finding : timeouts->findings)
    EXPECT_FALSE(Subject::is_end(finding.failure.what)) << finding.failure.what;
}

TEST(Explorer, every_way_in_which_a_run_fails_is_found) {
  const Subject subject = subject_of(bounded_job);
  ExploreOptions options = options_of("process", 100);
  options.strict = true;
  options.shrink_max = 1;
  const auto explored = explore(subject, options, nullptr);
  ASSERT_TRUE(explored) << explored.error().text();
  const auto scenario = subject.scenario(explored->demand, {}, options.seed);
  ASSERT_TRUE(scenario);
  std::map<std::string, std::uint64_t> runs;
  std::size_t most = 0;
  for (std::uint64_t run = 1; run <= options.runs; ++run) {
    const Drawn drawn =
        draw_run(options, run, explored->census, explored->undisturbed, explored->demand.heal);
    const Trial trial = try_faults(*scenario, drawn.plan, {drawn.world_seed, "", true});
    for (const Failure& failure : trial.failures) ++runs[failure.what];
    most = std::max(most, trial.failures.size());
  }
  EXPECT_GE(most, 2U);
  std::map<std::string, std::uint64_t> found;
  for (const Finding& finding : explored->findings)
    found[finding.failure.what] = finding.runs_failed;
  EXPECT_EQ(found, runs);
}

TEST(Explorer, a_run_without_end_fails_again_without_end) {
  const Result<RunResult> stuck = fail(Reason::internal_error, "the run is stuck");
  EXPECT_EQ(failure_text(stuck, stuck_failure), "the run is stuck");
  EXPECT_EQ(failure_text(stuck, "times"), std::nullopt);
  EXPECT_EQ(failure_text(fail(Reason::bad_input, "no"), stuck_failure), std::nullopt);
  RunResult result;
  result.invariants = {{"times", Verdict::failed, {}, "late", ""},
                       {"kept", Verdict::held, {}, "", ""}};
  result.expectations = {{"ends", Verdict::failed, {}, "never", ""}};
  EXPECT_EQ(failure_text(result, "times"), "late");
  EXPECT_EQ(failure_text(result, "ends"), "never");
  EXPECT_EQ(failure_text(result, "kept"), std::nullopt);
  EXPECT_EQ(failure_text(result, stuck_failure), std::nullopt);
}

TEST(Explorer, what_the_scenario_breaks_late_is_healed_later) {
  const Subject subject =
      subject_of(bounded_job_with("{faults: [{dns: lost, of: nobody, at: 30m}]}"));
  const auto explored = explore(subject, options_of("api-latency", 3), nullptr);
  ASSERT_TRUE(explored) << explored.error().text();
  EXPECT_GT(explored->demand.heal, Duration(30min));
}

TEST(Explorer, the_scenarios_own_faults_act_in_every_run) {
  const Subject subject = subject_of(
      bounded_job_with("{faults: [{process: kill, of: train-master-0, step: 2}], heal: 1h}"));
  ExploreOptions options = options_of("process-kill", 40);
  options.strict = true;
  options.shrink_max = 200;
  const auto explored = explore(subject, options, nullptr);
  ASSERT_TRUE(explored) << explored.error().text();
  EXPECT_GE(explored->demand.heal, Duration(1h));
  EXPECT_LT(explored->disturbed, 40U);  // its own does not count
  const auto found =
      std::find_if(explored->findings.begin(), explored->findings.end(),
                   [](const Finding& f) { return f.failure.what == "backoff-limit"; });
  ASSERT_NE(found, explored->findings.end());
  // One restart is its own, and one more is beyond the limit.
  EXPECT_EQ(found->plan.faults.size(), 1U);
  const std::string file = subject.text(explored->demand, found->plan, 1, "", "");
  const KindRegistry kinds;
  const auto again = parse_scenario("again.yaml", kinds,
                                    [&](const std::string&) { return Result<std::string>(file); });
  ASSERT_TRUE(again) << again.error().text() << file;
  EXPECT_EQ(again->faults.faults, subject.with_own(found->plan).faults);
  EXPECT_EQ(again->faults.faults.size(), 2U);
}

TEST(Explorer, the_scenarios_own_expectations_count_where_that_is_asked) {
  constexpr std::string_view never = "never {of: pod/train-master-0, created: {atLeast: 2}}";
  const Subject subject = subject_of(
      bounded_job_with("{expect: [{never: {of: pod/train-master-0, created: {atLeast: 2}}}, "
                       "{eventually: {of: pytorchjob/train, finished: true}}]}"));
  EXPECT_EQ(subject.expectations(), 2U);
  ExploreOptions options = options_of("process-kill", 10);
  const auto silent = explore(subject, options, nullptr);
  ASSERT_TRUE(silent) << silent.error().text();
  EXPECT_THAT(silent->findings, testing::IsEmpty());
  options.own_expectations = true;
  const auto explored = explore(subject, options, nullptr);
  ASSERT_TRUE(explored) << explored.error().text();
  ASSERT_EQ(explored->findings.size(), 1U);
  const Finding& found = explored->findings.front();
  EXPECT_EQ(found.failure.what, never);
  EXPECT_EQ(found.plan.faults.size(), 1U);
  const std::string file = subject.text(explored->demand, found.plan, found.world_seed, "", "");
  const KindRegistry kinds;
  const auto again = parse_scenario("again.yaml", kinds,
                                    [&](const std::string&) { return Result<std::string>(file); });
  ASSERT_TRUE(again) << again.error().text() << file;
  EXPECT_TRUE(failure_text(run_virtually(*again, {.seed = *again->seed}), never));
}

// It has no end: that its training has been Complete is one, whatever went wrong before.
TEST(Explorer, a_set_whose_pods_run_for_ever_has_to_train_in_spite_of_faults) {
  const auto set = [](std::string_view command) {
    return fmt::format(
        "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec: "
        "{{images: [{{name: w, model: {{steps: 3, stepTime: 100ms}}}}]}}\n---\napiVersion: "
        "platform.ddptwin.dev/v1alpha1\nkind: DDPSet\nmetadata: {{name: train}}\nspec: {{replicas: "
        "2, podManagementPolicy: Parallel, publishNotReadyAddresses: true, template: {{spec: "
        "{{containers: [{{name: c, image: w, command: [sh, -c, '{}']}}]}}}}}}\n",
        command);
  };
  const std::string trains =
      "export MASTER_ADDR=${POD_NAME%-*}-0.$SVC_NAME.$POD_NAMESPACE.svc.cluster.local "
      "MASTER_PORT=$POD_PORT WORLD_SIZE=$POD_NUMS RANK=${POD_NAME##*-}; python train.py";
  const auto explored = explore(subject_of(set(trains)), options_of("process-kill", 6), nullptr);
  ASSERT_TRUE(explored) << explored.error().text();
  EXPECT_THAT(explored->demand.due, testing::ElementsAre("default/train"));
  EXPECT_THAT(explored->findings, testing::IsEmpty());
  // Who has no rank forms no group, with or without faults: nothing is due.
  const auto idle = explore(subject_of(set("sleep 5")), options_of("process-kill", 2), nullptr);
  ASSERT_TRUE(idle) << idle.error().text();
  EXPECT_THAT(idle->demand.due, testing::IsEmpty());
}

TEST(Explorer, what_a_step_cuts_short_has_not_failed) {
  const auto failures = [](const std::string& steps) {
    const Subject subject = subject_of(
        bounded_job_with("{steps: [" + steps +
                         "], expect: [{eventually: {of: pytorchjob/train, condition: Failed}}, " +
                         "{never: {of: pod/train-master-0, phase: Running}}]}"));
    Subject::Demand demand;
    demand.own_expectations = true;
    demand.heal = 1h;
    const auto scenario = subject.scenario(demand, {}, 1);
    EXPECT_TRUE(scenario) << scenario.error().text();
    std::vector<std::string> whats;
    for (const Failure& failure : try_faults(*scenario, {}, {}).failures)
      whats.push_back(failure.what);
    return whats;
  };
  const std::string never = "never {of: pod/train-master-0, phase: Running}";
  EXPECT_THAT(failures("{delete: pod/nobody, at: 5s}"), testing::ElementsAre(never));
  EXPECT_THAT(failures("{delete: pod/train-master-0, at: 5s}"),
              testing::ElementsAre(never, "eventually {of: pytorchjob/train, condition: Failed}"));
}

TEST(Explorer, what_was_found_is_told_when_nobody_wants_more) {
  const Subject subject = subject_of(bounded_job);
  ExploreOptions options = options_of("process", 100'000);
  options.strict = true;
  options.jobs = 2;
  options.shrink_max = 1;
  const auto explored =
      explore(subject, options, [](const Progress& progress) { return progress.failed == 0; });
  ASSERT_TRUE(explored) << explored.error().text();
  EXPECT_FALSE(explored->findings.empty());
  EXPECT_GT(explored->runs, 0U);
  EXPECT_LT(explored->runs, 10'000U);
  EXPECT_EQ(explored->runs + explored->runs_left, options.runs);
}

TEST(Explorer, nothing_depends_on_the_number_of_threads) {
  const Subject subject = subject_of(bounded_job);
  ExploreOptions options = options_of("all", 30);
  options.strict = true;
  options.shrink_max = 20;
  const auto one = explore(subject, options, nullptr);
  options.jobs = 3;
  std::uint64_t reported = 0;
  const auto three = explore(subject, options, [&](const Progress& p) {
    reported = p.done;
    return true;
  });
  ASSERT_TRUE(one && three);
  EXPECT_EQ(words_of(*one), words_of(*three));
  EXPECT_EQ(one->records, three->records);
  EXPECT_EQ(one->simulated, three->simulated);
  EXPECT_EQ(one->disturbed, three->disturbed);
  EXPECT_EQ(one->coverage.rules(), three->coverage.rules());
  EXPECT_GT(reported, 0U);
  EXPECT_LE(reported, 30U);
}

TEST(Explorer, an_exhaustive_search_tries_as_many_points_as_the_trace_shows) {
  const Subject subject = subject_of(bounded_job);
  // Counted from the trace of a plain run, not by the injector.
  const auto own = subject.own();
  ASSERT_TRUE(own);
  VirtualRun plain(*own, {.seed = 1});
  std::uint64_t starts = 0, steps = 0, writes = 0;
  bool counts = false;
  plain.world().trace().add_sink([&](const Record& record) {
    if (!counts) return;
    starts += record.kind == RecordKind::container && record.text == "started";
    steps += record.kind == RecordKind::log && record.text.starts_with("step ");
    writes += record.actor == "training-operator" &&
              (record.after != nullptr || record.before != nullptr);
  });
  ASSERT_TRUE(plain.start([&] { counts = true; }));
  ASSERT_TRUE(plain.finish());
  EXPECT_EQ(steps, 8U);

  ExploreOptions options = options_of("process-kill", 1);
  options.exhaustive = true;
  const auto kills = explore(subject, options, nullptr);
  ASSERT_TRUE(kills);
  EXPECT_EQ(kills->points, starts + steps);
  EXPECT_EQ(kills->runs, kills->points);
  // The process ends with its last step: nobody is there to be killed then.
  EXPECT_EQ(kills->disturbed, kills->points - 1);

  options = options_of("controller-crash", 1);
  options.exhaustive = true;
  const auto crashes = explore(subject, options, nullptr);
  ASSERT_TRUE(crashes);
  const auto of_operator =
      crashes->census.writes.at({"training-operator", "pytorchjob-controller"});
  // A write that changes nothing leaves no record.
  EXPECT_GE(static_cast<std::uint64_t>(of_operator), writes);
  EXPECT_LE(static_cast<std::uint64_t>(of_operator), writes + 2);
  EXPECT_EQ(crashes->disturbed, crashes->points);
  EXPECT_THAT(words_of(*crashes), testing::IsEmpty());
}

TEST(Explorer, what_a_scenario_wants_violated_is_not_asked_for) {
  std::string text = bounded_job;
  text.replace(text.find("{modes: [virtual]}"), 18,
               "{modes: [virtual], invariants: {violated: [{name: backoff-limit, reason: Q1}], "
               "except: [{name: times, reason: so}]}}");
  const Subject subject = subject_of(text);
  for (const bool strict : {false, true}) {
    Subject::Demand demand;
    demand.strict = strict;
    const auto scenario = subject.scenario(demand, {}, 1);
    ASSERT_TRUE(scenario) << scenario.error().text();
    EXPECT_TRUE(scenario->invariants.violated.empty());
    EXPECT_EQ(scenario->invariants.off.at("backoff-limit"), "Q1");
    EXPECT_EQ(scenario->invariants.off.at("times"), "so");
    EXPECT_EQ(scenario->invariants.also.empty(), !strict);
    EXPECT_EQ(scenario->invariants.off.size() > 2, !strict);
  }
}

TEST(Explorer, what_a_system_that_is_off_promises_is_not_asked_for) {
  const auto asked_with = [](const std::string& systems) {
    const Subject subject = subject_of(
        "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: none}\n"
        "spec: {modes: [virtual], cluster: {systems: {" +
        systems + "}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: some}\n");
    Subject::Demand demand;
    demand.strict = true;
    const auto scenario = subject.scenario(demand, {}, 1);
    EXPECT_TRUE(scenario) << scenario.error().text();
    return scenario ? scenario->invariants.also : std::set<std::string, std::less<>>();
  };
  EXPECT_THAT(asked_with("training-operator: v1.9"), testing::Contains("created-first"));
  EXPECT_THAT(asked_with("training-operator: off"),
              testing::Not(testing::Contains("created-first")));
}

TEST(Explorer, what_stands_in_for_a_plain_files_images_does_so_in_its_runs) {
  std::string text = bounded_job;
  text = text.substr(text.find("---") + 4);
  text.replace(text.find("ddptwin-worker"), 14, "nobody/knows:1");
  const Subject subject = subject_of(text);
  const auto explored = explore(subject, options_of("process-kill", 3), nullptr);
  ASSERT_TRUE(explored) << explored.error().text();
  EXPECT_EQ(explored->runs, 3U);
  const auto scenario = subject.scenario({}, {}, 1);
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_TRUE(scenario->stand_ins.wanted);
}

TEST(Explorer, each_run_is_decided_by_its_number) {
  const ExploreOptions options = options_of("all", 10);
  Census census;
  census.calls = {{{"training-operator", "pytorchjob-controller"}, 9}};
  census.steps = {{"default/a", 5}};
  std::set<std::uint64_t> seeds;
  for (std::uint64_t run = 1; run <= 50; ++run) {
    const Drawn drawn = draw_run(options, run, census, 10s, 60s);
    const Drawn again = draw_run(options, run, census, 10s, 60s);
    EXPECT_EQ(drawn.world_seed, again.world_seed);
    EXPECT_EQ(drawn.plan.faults, again.plan.faults);
    EXPECT_EQ(drawn.plan.heal, Duration(60s));
    seeds.insert(drawn.world_seed);
  }
  EXPECT_EQ(seeds.size(), 50U);
}

}  // namespace
}  // namespace ddptwin::scenario::explorer_test
