#include "scenario/run/virtual_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario::virtual_run_test {
namespace {

Scenario parse(const std::string& text) {
  static const KindRegistry kinds;
  auto parsed = parse_scenario("s.yaml", kinds,
                               [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(parsed) << parsed.error().text();
  return std::move(*parsed);
}

std::string job(const std::string& arguments) {
  std::string text =
      "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\n"
      "spec:\n  pytorchReplicaSpecs:\n";
  for (const char* type : {"Master", "Worker"})
    text += "    " + std::string(type) +
            ":\n      replicas: 1\n      restartPolicy: OnFailure\n      template: {spec: "
            "{containers: [{name: pytorch, image: ddptwin-worker, args: [" +
            arguments + "]}]}}\n";
  return text;
}

TEST(VirtualRunTest, a_job_comes_to_its_end_and_the_seed_decides_only_the_order) {
  const Scenario one = parse(job("--steps, '3', --step-time, 1h"));
  // Without an expectation that bounds it, the scenario's timeout of two minutes would end it.
  Scenario patient = one;
  patient.timeout = 24h;
  const auto result = run_virtually(patient, {.seed = 3});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed());
  EXPECT_EQ(result->mode, Mode::virtual_);
  EXPECT_GE(result->ended_at - result->started_at, 3h);
  EXPECT_EQ(result->started_at, virtual_start);
  EXPECT_EQ(result->torch, "2.x");
  EXPECT_GT(result->records, 20U);
  EXPECT_EQ(result->repeat(), "ddptwin run s.yaml --mode virtual --seed 3 --torch 2.x");
}

// os.cpu_count() and torchrun's `auto`: the node's, whatever the limit (ddp-semantics §9.5); the
// default node has 32.
TEST(VirtualRunTest, a_pod_has_the_cpus_of_its_node) {
  std::string text =
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
      "  cluster: {nodes: [{name: small, cpu: 3}, {name: large, cpu: 5}, {name: plain}]}\n"
      "  modes: [virtual]\n  expect:\n";
  for (const auto& [node, log] :
       {std::pair("small", "'^3$'"), {"large", "'^5$'"}, {"plain", "'^32$'"}})
    text += std::string("  - eventually: {of: pod/") + node + ", log: " + log + "}\n";
  for (const char* node : {"small", "large", "plain"})
    text += std::string("---\napiVersion: v1\nkind: Pod\nmetadata: {name: ") + node +
            "}\nspec: {restartPolicy: Never, nodeName: " + node +
            ", containers: [{name: c, image: ddptwin-worker, command: [nproc], resources: {limits: "
            "{cpu: 2}}}]}\n";
  const Scenario one = parse(text);
  const auto result = run_virtually(one, {.seed = 3});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed());
  const auto of_this_machine = run_virtually(one, {.seed = 3, .cpus = 3});
  ASSERT_TRUE(of_this_machine);
  EXPECT_FALSE(of_this_machine->passed());
  EXPECT_EQ(of_this_machine->expectations.front().verdict, Verdict::held);
}

TEST(VirtualRunTest, what_is_judged_at_rest_is_judged_after_a_short_run_too) {
  const Scenario one = parse(job("--steps, '3'"));
  VirtualRun run(one, {.seed = 3});
  ASSERT_TRUE(run.start());
  ASSERT_TRUE(run.finish());
  EXPECT_LT(run.engine().ended_at() - run.engine().started_at(), 10s);
  const auto judged = run.engine().invariants();
  for (const char* name : {"no-new-pods", "endpoints-are-true", "visible"}) {
    const auto found = std::find_if(judged.begin(), judged.end(),
                                    [name](const auto& each) { return each.row->name == name; });
    EXPECT_TRUE(found->asked) << name;
  }
}

std::string with_faults(const std::string& faults) {
  return "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  "
         "faults:\n" +
         faults + "---\n" + job("--steps, '3'");
}

// The trace of a run as lists to ask: what was written, and what led to it.
struct Traced {
  struct Row {
    std::uint64_t cause = 0;
    Time time{};
    RecordKind kind{};
    std::string subject{}, text{}, about{};
  };
  explicit Traced(VirtualRun& run) {
    run.world().trace().add_sink([this](const Record& record) {
      Row& row = rows[record.id];
      row = {record.cause,
             record.time,
             record.kind,
             std::string(record.subject),
             std::string(record.text),
             {}};
      const Object* object = record.after ? record.after.get() : record.before.get();
      if (object != nullptr) row.about = object->kind().kind + "/" + object->metadata.name.str();
    });
  }
  const Row& cause_of(const Row& row) const {
    static const Row none;
    const auto found = rows.find(row.cause);
    return found == rows.end() ? none : found->second;
  }
  // The first of that kind whose subject or text begins like that.
  const Row& first(RecordKind kind, std::string_view beginning) const {
    static const Row none;
    for (const auto& [id, row] : rows)
      if (row.kind == kind &&
          (row.subject.starts_with(beginning) || row.text.starts_with(beginning)))
        return row;
    ADD_FAILURE() << "no " << to_string(kind) << " " << beginning;
    return none;
  }
  std::map<std::uint64_t, Row> rows{};
};

std::string with_operator_flags(const std::string& flags) {
  return "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
         "  images: [{name: 'waiting:1'}]\n"
         "  cluster: {systems: {training-operator: {version: v1.8, flags: {" +
         flags + "}}}}\n---\n" + job("--steps, '3'");
}

TEST(VirtualRunTest, an_operator_is_started_with_its_flags) {
  for (const auto& [order, first] : std::map<std::string, std::string>{
           {"master-first", "train-master-0"}, {"worker-first", "train-worker-0"}}) {
    const Scenario one = parse(with_operator_flags(
        "pytorch-init-container-image: 'waiting:1', pytorch-init-container-max-tries: 7, "
        "replica-type-order: " +
        order));
    VirtualRun run(one, {.seed = 3});
    std::vector<std::string> made;
    std::shared_ptr<const Pod> worker;
    run.world().trace().add_sink([&](const Record& record) {
      if (!record.after || record.before || record.after->kind().kind != "Pod") return;
      made.push_back(record.after->metadata.name.str());
      if (made.back() == "train-worker-0") worker = as<Pod>(record.after);
    });
    ASSERT_TRUE(run.start());
    const auto result = run.finish();
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_TRUE(result->passed());
    ASSERT_FALSE(made.empty());
    EXPECT_EQ(made.front(), first);
    ASSERT_TRUE(worker);
    ASSERT_EQ(worker->spec->initContainers.size(), 1U);
    const Container& waiting = worker->spec->initContainers[0];
    EXPECT_EQ(std::string_view(waiting.image), "waiting:1");
    EXPECT_THAT(std::string(waiting.command.back()), testing::HasSubstr("seq 7"));
  }
}

TEST(VirtualRunTest, a_verdict_follows_from_what_decided_it) {
  const Scenario one = parse(
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  expect:\n"
      "  - {name: works, eventually: {of: pytorchjob/train, condition: Running}, within: 1m}\n"
      "  - {name: says, eventually: {of: pod/train-worker-0, log: finished rank 1}, within: 1m}\n"
      "  - {name: hopes, eventually: {of: pod/train-master-0, restarts: 1}, within: 50s}\n"
      "  - {name: never, eventually: {of: pod/nobody, restarts: 1}, within: 50s}\n---\n" +
      job("--steps, '3', --step-time, 1s"));
  VirtualRun run(one, {.seed = 3});
  const Traced trace(run);
  ASSERT_TRUE(run.start());
  ASSERT_TRUE(run.finish());
  const auto decided_by = [&](const char* name) {
    return trace.cause_of(trace.first(RecordKind::expectation, name));
  };
  EXPECT_EQ(decided_by("works").about, "PyTorchJob/train");
  EXPECT_EQ(decided_by("says").text.substr(0, 15), "finished rank 1");
  EXPECT_EQ(decided_by("hopes").about, "Pod/train-master-0");
  EXPECT_EQ(trace.first(RecordKind::expectation, "never").cause, 0U);
}

TEST(VirtualRunTest, what_a_step_applies_follows_from_the_step_alone) {
  const Scenario one =
      parse(job("--steps, '3'") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
  VirtualRun run(one, {.seed = 3});
  const Traced trace(run);
  ASSERT_TRUE(run.start());
  ASSERT_TRUE(run.finish());
  int found = 0;
  for (const auto& [id, row] : trace.rows) {
    if (row.kind != RecordKind::object_added) continue;
    if (row.about != "PyTorchJob/train" && row.about != "ConfigMap/c") continue;
    EXPECT_EQ(trace.cause_of(row).kind, RecordKind::step) << row.about;
    ++found;
  }
  EXPECT_EQ(found, 2);
}

// A rank that a link's fault keeps from its peer, and the end that this leads to.
TEST(VirtualRunTest, a_connection_that_a_fault_breaks_is_the_cause_of_what_it_leads_to) {
  for (const char* fault : {"reset", "drop"}) {
    std::string text = with_faults(std::string("  - {link: ") + fault +
                                   ", of: train-worker-0, to: train-master-0, step: 3}\n");
    text.replace(text.find("'3'"), 3, "'200'");
    text.replace(text.find("'3'"), 3, "'200'");
    for (std::size_t at = text.find("'200'"); at != text.npos; at = text.find("'200'", at + 5))
      text.insert(at + 5, ", --step-time, 1s, --timeout, 30s");
    Scenario one = parse(text);
    one.timeout = 10min;
    VirtualRun run(one, {.seed = 3});
    const Traced trace(run);
    ASSERT_TRUE(run.start());
    ASSERT_TRUE(run.finish());
    const Traced::Row& broken = trace.first(RecordKind::connection, "default/train-");
    EXPECT_EQ(trace.cause_of(broken).kind, RecordKind::fault) << fault;
    const std::string pod = broken.subject.substr(0, broken.subject.find(' '));
    const auto& rows = trace.rows;
    const auto exit = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
      return row.second.text == "exited" && row.second.subject.starts_with(pod);
    });
    ASSERT_NE(exit, rows.end()) << pod;
    EXPECT_EQ(trace.cause_of(exit->second).subject, broken.subject) << fault;
  }
}

// The end of a rank reaches its peers through their connections.
TEST(VirtualRunTest, the_end_of_a_peer_is_the_cause_of_a_lost_connection) {
  std::string text = with_faults("  - {process: kill, of: train-master-0, step: 3}\n");
  text.replace(text.find("'3'"), 3, "'9', --step-time, 1s");
  text.replace(text.find("'3'"), 3, "'9', --step-time, 1s");
  const Scenario one = parse(text);
  VirtualRun run(one, {.seed = 3});
  const Traced trace(run);
  ASSERT_TRUE(run.start());
  ASSERT_TRUE(run.finish());
  const Traced::Row& lost =
      trace.first(RecordKind::connection, "default/train-worker-0 -> default/train-master-0");
  const Traced::Row& cause = trace.cause_of(lost);
  EXPECT_TRUE(cause.subject.starts_with("default/train-master-0")) << cause.subject;
}

TEST(VirtualRunTest, a_violation_has_one_time) {
  const Scenario one = parse(
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
      "  steps:\n  - wait: 1s\n    when: {of: pytorchjob/train, condition: Succeeded}\n"
      "  - patch: {of: pytorchjob/train, subresource: status, type: merge,\n"
      "            patch: {status: {conditions: []}}}\n---\n" +
      job("--steps, '3'"));
  VirtualRun run(one, {.seed = 3});
  const Traced trace(run);
  ASSERT_TRUE(run.start());
  ASSERT_TRUE(run.finish());
  ASSERT_FALSE(run.engine().violations().empty());
  for (const Violation& violation : run.engine().violations())
    EXPECT_EQ(trace.first(RecordKind::invariant, violation.invariant).time, violation.time)
        << violation.invariant;
}

TEST(VirtualRunTest, a_fault_of_nobody_is_refused_before_the_run) {
  struct Row {
    const char *fault, *says;
  };
  const Row rows[] = {
      {"{controller: crash, of: pytorchjob-controler}",
       "there is no controller \"pytorchjob-controler\" (did you mean pytorchjob-controller?)"},
      {"{controller: double, of: kube-scheduler}", "there is no controller \"kube-scheduler\""},
      {"{api: conflict, of: kubelets}", "there is no client \"kubelets\" (did you mean kubelet?)"},
      {"{watch: relist, of: kubelet/node-9}", "there is no client \"kubelet/node-9\""},
      {"{watch: delay, of: endpoint-controller}",
       "endpoint-controller hears nothing by itself: the controllers of kube-controller-manager "
       "share their informers, whose name is shared-informers"},
  };
  for (const Row& row : rows) {
    const auto result =
        run_virtually(parse(with_faults(std::string("  - ") + row.fault + "\n")), {});
    ASSERT_FALSE(result) << row.fault;
    EXPECT_EQ(result.error().reason, Reason::bad_input);
    EXPECT_EQ(result.error().message.substr(0, std::string_view(row.says).size()), row.says);
    EXPECT_THAT(result.error().where, testing::MatchesRegex("s.yaml:6:.* spec.faults.0..of"));
  }
  for (const char* fault :
       {"{controller: crash, of: training-operator}", "{api: latency, of: kubelet/node-0}",
        "{watch: delay, of: kubelet/}", "{controller: crash, of: kube-controller-manager}"}) {
    const auto result = run_virtually(parse(with_faults(std::string("  - ") + fault + "\n")), {});
    EXPECT_TRUE(result) << fault << result.error().text();
  }
}

TEST(VirtualRunTest, a_fault_that_never_acts_fails_its_scenario) {
  const auto result = run_virtually(
      parse(with_faults("  - {dns: servfail, of: train-master-0}\n  - {dns: lost, of: nobody}\n")),
      {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->passed());
  ASSERT_EQ(result->faults.size(), 2U);
  EXPECT_EQ(result->faults[0].verdict, Verdict::held);
  EXPECT_EQ(result->faults[1].verdict, Verdict::failed);
  EXPECT_EQ(result->faults[1].name, "{dns: lost, of: nobody}");
  EXPECT_EQ(result->faults[1].detail, "it never acted");
  EXPECT_EQ(result->faults[1].where.substr(0, 9), "s.yaml:7:");
}

TEST(VirtualRunTest, a_fault_that_never_acts_says_why_where_that_is_plain) {
  const auto late = run_virtually(parse(with_faults("  - {dns: lost, at: 1h}\n")), {});
  ASSERT_TRUE(late) << late.error().text();
  EXPECT_THAT(late->faults.at(0).detail,
              testing::MatchesRegex("it never acted: the run was over after .*, before its time"));
  const auto healed =
      run_virtually(parse(with_faults("  - {dns: lost, of: nobody}\n  heal: 1ms\n")), {});
  ASSERT_TRUE(healed) << healed.error().text();
  EXPECT_EQ(healed->faults.at(0).detail, "it never acted before all faults were healed, after 1ms");
}

TEST(VirtualRunTest, runs_side_by_side_share_nothing) {
  const Scenario one = parse(job("--steps, '3'"));
  const auto hash = [&one](std::uint64_t seed) {
    const auto result = run_virtually(one, {.seed = seed});
    return result ? *result->trace_hash : 0;
  };
  const std::uint64_t expected[] = {hash(1), hash(2)};
  EXPECT_NE(expected[0], 0U);
  EXPECT_NE(expected[0], expected[1]);
  std::uint64_t found[] = {0, 0};
  std::thread first([&] { found[0] = hash(1); });
  std::thread second([&] { found[1] = hash(2); });
  first.join();
  second.join();
  EXPECT_EQ(found[0], expected[0]);
  EXPECT_EQ(found[1], expected[1]);
}

TEST(VirtualRunTest, sinks_hear_of_everything_and_the_hash_is_optional) {
  const Scenario one = parse(job("--steps, '3'"));
  VirtualRun run(one, {.hash = false});
  // The namespaces that every cluster begins with are older than the run.
  std::uint64_t records = run.records();
  run.world().trace().add_sink([&](const Record&) { ++records; });
  ASSERT_TRUE(run.start());
  const auto result = run.finish();
  ASSERT_TRUE(result);
  EXPECT_EQ(records, run.records());
  EXPECT_EQ(run.trace_hash(), 0U);
  EXPECT_FALSE(result->trace_hash);
}

// A step that goes into a pod which prints its name and sleeps, and what became of the step.
std::string executed(const std::string& step) {
  const Scenario scenario = parse(
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  timeout: 30s\n  steps:\n  - " +
      step + R"(
    when: {of: pod/p, log: here}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: ddptwin-worker
    env: [{name: A, value: b}]
    command: [sh, -c, echo here; sleep 99]
)");
  const auto result = run_virtually(scenario, {.seed = 3});
  if (!result) return result.error().text();
  const auto& told = result->step_verdicts.back();
  return told.verdict == Verdict::held ? "done" : told.detail;
}

TEST(VirtualRunTest, a_command_runs_in_a_pod_and_its_end_is_judged) {
  EXPECT_EQ(executed("exec: {of: pod/p, command: [sh, -c, 'echo a; echo $A; exit 4'], exitCode: 4, "
                     "output: '^b$'}"),
            "done");
  EXPECT_EQ(executed("exec: {of: pod/p, command: [sh, -c, 'echo $A; exit 4']}"),
            "default/p/c: `sh -c echo $A; exit 4` ended with 4: \"b\", and 0 was wanted");
  EXPECT_EQ(executed("exec: {of: pod/p, command: [echo, x], output: z}"),
            "default/p/c: `echo x` ended with 0: \"x\", and no line of its output is like `z`");
  EXPECT_EQ(executed("exec: {of: pod/p, container: d, command: [echo, x]}"),
            "no container of pod/p is called d: they are c");
  EXPECT_EQ(executed("exec: {of: pod/p, command: [sh, -c, exit 9], exitCode: any}"), "done");
  EXPECT_THAT(executed("exec: {of: pod/p, command: [nobody-knows-it]}"),
              testing::HasSubstr("nobody-knows-it"));
}

TEST(VirtualRunTest, a_command_that_does_not_end_is_ended_by_its_steps_time) {
  EXPECT_EQ(executed("exec: {of: pod/p, command: [sleep, 20]}\n    within: 5s"),
            "default/p/c: `sleep 20` was ended by the step's time, and was to end");
}

TEST(VirtualRunTest, a_quota_is_in_force_for_what_stands_behind_it_in_the_file) {
  const Scenario scenario = parse(R"(apiVersion: v1
kind: ResourceQuota
metadata: {name: none}
spec: {hard: {pods: "0"}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: ddptwin-worker, command: [sleep, '1']}
)");
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const auto result = run_virtually(scenario, {.seed = seed});
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_THAT(result->step_verdicts.front().detail, testing::HasSubstr("exceeded quota: none"))
        << seed;
  }
}

TEST(VirtualRunTest, what_never_ends_is_ended_by_the_timeout) {
  const Scenario one = parse(job("--steps, '3', --fail-at-step, '1', --fail-with, hang"));
  const auto result = run_virtually(one, {});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_FALSE(result->passed());
}

// Pods of the assumed cluster pull their images for two seconds.
TEST(VirtualRunTest, the_machine_is_the_scenarios) {
  const auto took = [](const std::string& machine) {
    const Scenario one =
        parse("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec: {machine: " + machine +
              "}\n---\n" + job("--steps, '3'"));
    const auto result = run_virtually(one, {});
    EXPECT_TRUE(result->passed());
    return result->ended_at - result->started_at;
  };
  EXPECT_GT(took("cluster"), took("host") + 2s);
}

TEST(VirtualRunTest, the_pytorch_is_the_options_or_the_scenarios) {
  const Scenario one =
      parse("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec: {torch: '1.13'}\n---\n" +
            job("--steps, '3'"));
  EXPECT_EQ(run_virtually(one, {})->torch, "1.13");
  EXPECT_EQ(run_virtually(one, {.torch = "2.x"})->torch, "2.x");
}

// Two pods with the same probe; one of the scripts opens the port that it asks for.
TEST(VirtualRunTest, a_probe_finds_the_ports_that_a_description_names) {
  const auto pod = [](const std::string& name) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec:\n  containers:\n  - name: c\n    image: " + name +
           "\n    command: [python, train.py]\n    readinessProbe: {tcpSocket: {port: 8080}, "
           "periodSeconds: 1}\n    env:\n    - {name: RANK, value: '0'}\n    - {name: WORLD_SIZE, "
           "value: '1'}\n    - {name: MASTER_ADDR, value: localhost}\n    - {name: MASTER_PORT, "
           "value: '29500'}\n";
  };
  const Scenario one = parse(
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n"
      "  images:\n  - {name: open, model: {steps: 100, listens: [8080]}}\n"
      "  - {name: closed, model: {steps: 100, listens: [8081]}}\n"
      "  expect:\n  - eventually: {of: pod/open, condition: Ready}\n"
      "  - eventually: {of: pod/closed, event: Unhealthy}\n"
      "  - never: {of: pod/closed, condition: Ready}\n" +
      pod("open") + pod("closed"));
  const auto result = run_virtually(one, {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed());
}

}  // namespace
}  // namespace ddptwin::scenario::virtual_run_test
