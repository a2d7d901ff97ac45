#include "scenario/language/scenario_parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "objects/pytorchjob.hpp"

namespace ddptwin::scenario::scenario_parser_test {
namespace {

using testing::ElementsAre;
using Files = std::map<std::string, std::string>;

Result<Scenario> parse(const std::string& file, const Files& files) {
  const KindRegistry kinds;
  const ReadFile read = [&files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Reason::bad_input, path + ": no such file");
    return found->second;
  };
  return parse_scenario(file, kinds, read);
}

constexpr std::string_view pod =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    "spec: {containers: [{name: c, image: i}]}\n";
constexpr std::string_view job =
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec: {}\n";

std::string scenario_text(std::string_view spec) {
  return "# What happened.\n# And why.\n\n# Not this.\n"
         "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n" +
         std::string(spec) + "---\n" + std::string(pod);
}

TEST(ScenarioParser, plain_objects_run_with_the_defaults) {
  const auto scenario = parse("dir/a.yaml", {{"dir/a.yaml", std::string(job)}});
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_TRUE(scenario->plain);
  EXPECT_EQ(scenario->name, "a");
  ASSERT_EQ(scenario->nodes.size(), 1U);
  EXPECT_EQ(scenario->nodes[0].name, "node-0");
  ASSERT_EQ(scenario->manifests.size(), 1U);
  EXPECT_EQ(scenario->manifests[0].object->metadata.namespace_, "default");
  ASSERT_EQ(scenario->expectations.size(), 1U);
  EXPECT_EQ(scenario->expectations[0].name, "pytorchjob/j succeeds");
}

// Otherwise all that never happens would be held as soon as it began.
TEST(ScenarioParser, jobs_must_succeed_where_no_expectation_has_an_end) {
  const auto names = [](const std::string& expect) {
    const auto scenario =
        parse("s.yaml", {{"s.yaml",
                          "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n"
                          "  expect: " +
                              expect + "\n---\n" + std::string(job)}});
    EXPECT_TRUE(scenario) << scenario.error().text();
    std::vector<std::string> found;
    for (const Expectation& one : scenario->expectations) found.push_back(one.name);
    return found;
  };
  const std::string never = "{never: {of: pod/p, restarts: 1}, name: none}";
  EXPECT_THAT(names("[" + never + ", {always: {of: pods, count: 0}, name: a}]"),
              ElementsAre("none", "a", "pytorchjob/j succeeds"));
  for (const char* end :
       {"eventually: {of: pod/p}", "finally: {of: pod/p}", "never: {of: pod/p}, within: 3s"})
    EXPECT_THAT(names("[" + never + ", {name: e, " + end + "}]"), ElementsAre("none", "e")) << end;
}

TEST(ScenarioParser, an_unknown_kind_is_named_beside_those_known) {
  const auto scenario =
      parse("s.yaml", {{"s.yaml", scenario_text("  steps: [{delete: job.yaml}]\n")}});
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().where, "s.yaml:8:12 spec.steps[0].delete");
  EXPECT_TRUE(scenario.error().message.starts_with("unknown kind \"job.yaml\" (known: "));
}

TEST(ScenarioParser, files_that_a_scenario_names_lie_beside_it) {
  const auto scenario =
      parse("dir/s.yaml", {{"dir/s.yaml", scenario_text("  manifests: [more.yaml]\n")},
                           {"dir/more.yaml", std::string(job)}});
  ASSERT_TRUE(scenario) << scenario.error().text();
  ASSERT_EQ(scenario->manifests.size(), 2U);
  EXPECT_EQ(scenario->manifests[0].object->metadata.name, "j");
}

TEST(ScenarioParser, steps_have_actions_and_triggers) {
  const auto scenario = parse("s.yaml", {{"s.yaml", scenario_text(R"(
  namespace: team
  steps:
  - name: shot
    kill: {of: pod/p, signal: TERM}
    when: {of: pod/p, step: 5}
    within: 3s
  - delete: pod/other/q
    at: 10s
  - wait: 2s
  - wait: {of: pods, phase: Running, count: 2}
  expect:
  - eventually: {of: pod/p, restarts: {atLeast: 1}, exitCode: 143}
    within: 20s
    since: shot
  - never: {of: pod/p, condition: {type: Ready, status: True, reason: X}}
)")}});
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->incident, "What happened. And why.");
  ASSERT_EQ(scenario->steps.size(), 4U);
  const auto& kill = std::get<Kill>(scenario->steps[0].action);
  EXPECT_EQ(kill.signal, 15);
  EXPECT_EQ(kill.of.namespace_, "team");
  EXPECT_EQ(scenario->steps[0].text, "kill {of: pod/p, signal: TERM}");
  EXPECT_EQ(scenario->steps[0].within, Duration(3s));
  EXPECT_EQ(std::get<StepClaim>(scenario->steps[0].trigger.when->claims.at(0)).step, 5);
  EXPECT_EQ(std::get<Delete>(scenario->steps[1].action).of.namespace_, "other");
  EXPECT_EQ(scenario->steps[1].trigger.at, Duration(10s));
  EXPECT_EQ(std::get<Wait>(scenario->steps[2].action).duration, Duration(2s));
  EXPECT_TRUE(std::get<Wait>(scenario->steps[3].action).state->count.holds(2));
  EXPECT_FALSE(std::get<Wait>(scenario->steps[3].action).state->count.holds(3));
  ASSERT_EQ(scenario->expectations.size(), 2U);
  EXPECT_EQ(scenario->expectations[0].state.claims.size(), 2U);
  EXPECT_EQ(scenario->expectations[0].since, "shot");
  const auto& condition = std::get<ConditionClaim>(scenario->expectations[1].state.claims.at(0));
  EXPECT_EQ(condition.status, "True");
  EXPECT_EQ(condition.reason, "X");
}

TEST(ScenarioParser, nodes_and_images_are_described) {
  const auto scenario = parse("s.yaml", {{"s.yaml", scenario_text(R"(
  cluster:
    trainingOperator: v1.8
    flags: {kube-api-qps: -1, kube-api-burst: 5, terminated-pod-gc-threshold: 7}
    nodes:
    - {name: small, cpu: 2, memory: 4Gi, labels: {zone: a}}
    - {name: gpu, count: 2, resources: {nvidia.com/gpu: 4}}
  images:
  - {name: i, workdir: /w, env: {A: 1}, entrypoint: [sh, -c], cmd: ["exit 3"]}
  - {name: "i:typo", missing: true}
  invariants:
    except: [{name: times, reason: the clock goes back}]
    violated: [{name: one-end, reason: quirk Q10}]
    also: [created-first]
  modes: [real, virtual]
  timeout: 30s
)")}});
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(version_of(scenario->systems, training_operator), "v1.8.1");
  EXPECT_EQ(scenario->flags.kube_api_qps, -1);
  EXPECT_EQ(scenario->flags.kube_api_burst, 5);
  EXPECT_EQ(scenario->flags.terminated_pod_gc_threshold, 7U);
  ASSERT_EQ(scenario->nodes.size(), 3U);
  EXPECT_EQ(scenario->nodes[0].capacity.at("memory").str(), "4Gi");
  EXPECT_EQ(scenario->nodes[2].name, "gpu-1");
  EXPECT_NE(scenario->nodes[1].address, scenario->nodes[2].address);
  ASSERT_EQ(scenario->images.size(), 2U);
  EXPECT_FALSE(scenario->images[0].missing);
  EXPECT_TRUE(scenario->images[1].missing);
  EXPECT_EQ(scenario->images[0].image.workdir, "/w");
  EXPECT_EQ(scenario->images[0].image.cmd, std::vector<std::string>{"exit 3"});
  EXPECT_EQ(scenario->invariants.off.at("times"), "the clock goes back");
  EXPECT_EQ(scenario->invariants.violated.at("one-end"), "quirk Q10");
  EXPECT_TRUE(scenario->invariants.also.contains("created-first"));
  EXPECT_EQ(scenario->modes.size(), 2U);
  EXPECT_EQ(scenario->timeout, Duration(30s));
}

struct Refusal {
  const char* name;
  std::string spec;
  std::string error;
};
class ScenarioRefusal : public testing::TestWithParam<Refusal> {};
TEST_P(ScenarioRefusal, names_file_line_and_field) {
  const auto scenario = parse("s.yaml", {{"s.yaml", scenario_text(GetParam().spec)}});
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().text(), GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ScenarioRefusal,
    testing::Values(
        Refusal{"unknown_field", "  stepps: []\n",
                "s.yaml:8:3 spec.stepps: unknown field \"stepps\" (did you mean steps?)"},
        Refusal{"unknown_step", "  steps:\n  - kil: pod/p\n",
                "s.yaml:9:5 spec.steps[0].kil: unknown kind of step \"kil\" (did you mean kill?)"},
        Refusal{"no_action", "  steps:\n  - after: 2s\n",
                "s.yaml:9:5 spec.steps[0]: a step needs one of apply, delete, evict, kill, exec, "
                "patch, "
                "metrics, wait"},
        Refusal{
            "two_actions", "  steps:\n  - kill: pod/p\n    wait: 1s\n",
            "s.yaml:9:5 spec.steps[0]: a step has one of apply, delete, evict, kill, exec, patch, "
            "metrics, wait, not "
            "kill and wait"},
        Refusal{"bad_duration", "  timeout: soon\n",
                "s.yaml:8:3 spec.timeout: must be a duration (500ms, 2s, 1m30s), not \"soon\""},
        Refusal{
            "bad_pattern", "  expect:\n  - eventually: {of: pods, log: \"(\"}\n",
            "s.yaml:9:28 spec.expect[0].eventually.log: must be a regular expression, not \"(\""},
        Refusal{"kill_a_job", "  steps:\n  - kill: pytorchjob/x\n",
                "s.yaml:9:5 spec.steps[0].kill: only pods can be killed"},
        Refusal{"a_name_that_is_no_text", "  steps:\n  - {name: n, kill: pod/x}\n",
                "s.yaml:9:6 spec.steps[0].name: must be text, not false; in quotes it is text"},
        Refusal{"a_kill_asks_nobody", "  steps:\n  - {kill: pod/x, refused: never}\n",
                "s.yaml:9:19 spec.steps[0].refused: only what asks the API can be refused by it"},
        Refusal{"missing_and_described", "  images:\n  - {name: i, missing: true, workdir: /w}\n",
                "s.yaml:9:5 spec.images[0]: of an image that is missing there is nothing to say "
                "but its name"},
        Refusal{"evict_a_job", "  steps:\n  - evict: {of: pytorchjob/x}\n",
                "s.yaml:9:5 spec.steps[0].evict: only pods can be evicted"},
        Refusal{"unknown_subresource",
                "  steps:\n  - patch: {of: pod/x, patch: {}, subresource: state}\n",
                "s.yaml:9:35 spec.steps[0].patch.subresource: must be one of status, scale, not "
                "\"state\""},
        Refusal{"bad_signal", "  steps:\n  - kill: {of: pod/x, signal: BOOM}\n",
                "s.yaml:9:23 spec.steps[0].kill.signal: unknown signal \"BOOM\" (known: HUP, INT, "
                "QUIT, ILL, TRAP, ABRT, BUS, FPE, KILL, USR1, SEGV, USR2, PIPE, ALRM, TERM, CHLD, "
                "CONT, STOP, TSTP, TTIN, TTOU, URG, XCPU, XFSZ, VTALRM, PROF, WINCH, IO, PWR, "
                "SYS)"},
        Refusal{"bad_namespace", "  namespace: A B\n",
                "s.yaml:8:3 spec.namespace: a lowercase RFC 1123 label must consist of lower case "
                "alphanumeric characters or '-', and must start and end with an alphanumeric "
                "character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
        Refusal{"bad_label", "  cluster: {nodes: [{name: a, labels: {\"a b\": c}}]}\n",
                "s.yaml:8:40 spec.cluster.nodes[0].labels.a b: name part must consist of "
                "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
                "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
        Refusal{"negative_resource", "  cluster: {nodes: [{name: a, resources: {gpu: -1}}]}\n",
                "s.yaml:8:43 spec.cluster.nodes[0].resources.gpu: must be 0 or more, not -1"},
        Refusal{"same_step_twice", "  steps: [{name: a, wait: 1s}, {name: a, wait: 1s}]\n",
                "s.yaml:8:33 spec.steps[1].name: there are two steps named a"},
        Refusal{"same_image_twice", "  images: [{name: a}, {name: b}, {name: a}]\n",
                "s.yaml:8:35 spec.images[2].name: there are two images named a"},
        Refusal{"same_rank_twice",
                "  images: [{name: i, model: {ranks: [{rank: 1, steps: 3}, {rank: 1}]}}]\n",
                "s.yaml:8:60 spec.images[0].model.ranks[1].rank: rank 1 is there twice"},
        Refusal{"share_of_no_rank", "  images: [{name: i, model: {ranks: [{steps: 3}]}}]\n",
                "s.yaml:8:38 spec.images[0].model.ranks[0]: the field rank is missing"},
        Refusal{"handler_without_a_code",
                "  images: [{name: i, model: {onSigterm: {code: 256}}}]\n",
                "s.yaml:8:42 spec.images[0].model.onSigterm.code: must be 0 to 255, not 256"},
        Refusal{"same_image_by_another_name", "  images: [{name: a}, {name: docker.io/a}]\n",
                "s.yaml:8:24 spec.images[1].name: a and docker.io/a are the same image"},
        Refusal{"negative_count", "  expect: [{eventually: {of: pods, count: -1}}]\n",
                "s.yaml:8:36 spec.expect[0].eventually.count: must be 0 or more, not -1"},
        Refusal{"negative_bound", "  expect: [{never: {of: pods, restarts: {atLeast: -1}}}]\n",
                "s.yaml:8:42 spec.expect[0].never.restarts.atLeast: must be 0 or more, not -1"},
        Refusal{
            "empty_range", "  expect: [{eventually: {of: pods, count: {}}}]\n",
            "s.yaml:8:36 spec.expect[0].eventually.count: must be a number, or a map of atLeast "
            "and atMost, not an empty map"},
        Refusal{"range_of_nothing",
                "  expect: [{never: {of: pods, count: {atLeast: 3, atMost: 1}}}]\n",
                "s.yaml:8:31 spec.expect[0].never.count: no number is at least 3 and at most 1"},
        Refusal{"no_step_to_come", "  steps: [{wait: {of: pods, step: 0}}]\n",
                "s.yaml:8:29 spec.steps[0].wait.step: must be 1 or more, not 0"},
        Refusal{"no_exit_code", "  expect: [{eventually: {of: pods, exitCode: 256}}]\n",
                "s.yaml:8:36 spec.expect[0].eventually.exitCode: must be 0 to 255, not 256"},
        Refusal{"misspelt_condition", "  expect: [{never: {of: pytorchjobs, condition: Faild}}]\n",
                "s.yaml:8:38 spec.expect[0].never.condition: unknown condition \"Faild\" (did you "
                "mean Failed?)"},
        Refusal{"misspelt_condition_in_a_map",
                "  expect: [{never: {of: pytorchjob/x, condition: {type: Paused}}}]\n",
                "s.yaml:8:51 spec.expect[0].never.condition.type: unknown condition \"Paused\" "
                "(known: Created, Running, Restarting, Succeeded, Failed, Suspended)"},
        Refusal{"misspelt_condition_of_a_pod", "  expect: [{never: {of: pods, condition: Redy}}]\n",
                "s.yaml:8:31 spec.expect[0].never.condition: unknown condition \"Redy\" (did you "
                "mean Ready?)"},
        Refusal{"node_in_a_namespace", "  expect: [{never: {of: node/default/node-0}}]\n",
                "s.yaml:8:21 spec.expect[0].never.of: no Node is in a namespace"},
        Refusal{"nodes_in_a_namespace",
                "  expect: [{never: {of: {kind: nodes, namespace: default}}}]\n",
                "s.yaml:8:39 spec.expect[0].never.of.namespace: no Node is in a namespace"},
        Refusal{"misspelt_status",
                "  expect: [{never: {of: pods, condition: {type: Ready, status: Ture}}}]\n",
                "s.yaml:8:56 spec.expect[0].never.condition.status: must be True, False or "
                "Unknown, not \"Ture\""},
        Refusal{"misspelt_phase", "  expect: [{eventually: {of: pods, phase: Runing}}]\n",
                "s.yaml:8:36 spec.expect[0].eventually.phase: unknown phase \"Runing\" (did you "
                "mean Running?)"},
        Refusal{"phase_of_a_job", "  expect: [{eventually: {of: pytorchjobs, phase: Succeeded}}]\n",
                "s.yaml:8:43 spec.expect[0].eventually.phase: no PyTorchJob has a phase: look for "
                "a condition"},
        Refusal{"condition_of_a_secret", "  expect: [{never: {of: secrets, condition: Ready}}]\n",
                "s.yaml:8:34 spec.expect[0].never.condition: no Secret has conditions"},
        Refusal{"step_of_a_job", "  steps: [{wait: {step: 3, of: pytorchjobs}}]\n",
                "s.yaml:8:19 spec.steps[0].wait.step: no PyTorchJob has containers: only a "
                "Pod has"},
        Refusal{"end_of_a_node", "  expect: [{eventually: {of: nodes, finished: true}}]\n",
                "s.yaml:8:37 spec.expect[0].eventually.finished: no Node comes to an end: only "
                "jobs and pods do"},
        Refusal{"success_of_a_service",
                "  expect: [{eventually: {of: services, succeeded: true}}]\n",
                "s.yaml:8:40 spec.expect[0].eventually.succeeded: no Service comes to an end: only "
                "jobs and pods do"},
        Refusal{"always_lasts", "  expect: [{always: {of: pods, phase: Running}, for: 3s}]\n",
                "s.yaml:8:49 spec.expect[0].for: only eventually asks for a state that lasts"},
        Refusal{"invariant_watched_anyway", "  invariants: {also: [terminal]}\n",
                "s.yaml:8:23 spec.invariants.also[0]: terminal is not strict: it is watched in "
                "every run already"},
        Refusal{"no_modes", "  modes: []\n",
                "s.yaml:8:3 spec.modes: must be real, virtual or both, not an empty list"},
        Refusal{"same_mode_twice", "  modes: [real, real]\n",
                "s.yaml:8:17 spec.modes[1]: real is given twice"},
        Refusal{"unknown_torch", "  torch: 1.14\n",
                "s.yaml:8:3 spec.torch: unknown version \"1.14\" (did you mean 1.13?)"},
        Refusal{"torch_of_another_text", "  torch: 1.130\n",
                "s.yaml:8:3 spec.torch: must be text, not 1.130; in quotes it is text"},
        Refusal{"missing_of", "  steps:\n  - wait: {phase: Running}\n",
                "s.yaml:9:5 spec.steps[0].wait: the field of is missing"},
        Refusal{"unknown_system", "  cluster: {systems: {training-operater: v1.9}}\n",
                "s.yaml:8:23 spec.cluster.systems.training-operater: unknown system "
                "\"training-operater\" (did you mean training-operator?)"},
        Refusal{
            "unknown_version_of_a_system", "  cluster: {systems: {training-operator: v2}}\n",
            "s.yaml:8:23 spec.cluster.systems.training-operator: unknown version \"v2\" (known: "
            "v1.7.0, v1.8.0, v1.8.1, v1.9.0, v1.9.4)"},
        Refusal{
            "unknown_field_of_a_system", "  cluster: {systems: {training-operator: {flag: {}}}}\n",
            "s.yaml:8:43 spec.cluster.systems.training-operator.flag: unknown field \"flag\" (did "
            "you mean flags?)"},
        Refusal{"unknown_flag_of_a_system",
                "  cluster: {systems: {training-operator: {flags: {init-tries: 3}}}}\n",
                "s.yaml:8:51 spec.cluster.systems.training-operator.flags.init-tries: the training "
                "operator has no flag \"init-tries\" (known: pytorch-init-container-image, "
                "pytorch-init-container-max-tries, pytorch-init-container-template-file, "
                "gang-scheduler-name, replica-type-order)"},
        Refusal{"value_of_a_flag_of_a_system",
                "  cluster: {systems: {training-operator: {flags: {replica-type-order: any}}}}\n",
                "s.yaml:8:51 spec.cluster.systems.training-operator.flags.replica-type-order: must "
                "be master-first, worker-first or random, not \"any\""},
        Refusal{"system_twice",
                "  cluster: {trainingOperator: v1.8, systems: {training-operator: v1.9}}\n",
                "s.yaml:8:13 spec.cluster.trainingOperator: systems names the training operator "
                "already"},
        Refusal{"kind_of_a_system_that_is_off",
                "  cluster: {systems: {training-operator: off}}\n"
                "  expect: [{never: {of: pytorchjob/j}}]\n",
                "s.yaml:9:21 spec.expect[0].never.of: unknown kind \"pytorchjob\": the training "
                "operator has it, and "
                "spec.cluster.systems switches that off"},
        Refusal{"unknown_version", "  cluster: {trainingOperator: v2}\n",
                "s.yaml:8:13 spec.cluster.trainingOperator: unknown version \"v2\" (known: v1.7.0, "
                "v1.8.0, v1.8.1, v1.9.0, v1.9.4)"},
        Refusal{"bad_flag", "  cluster: {flags: {kube-api-burst: 0}}\n",
                "s.yaml:8:21 spec.cluster.flags.kube-api-burst: must be 1 to 1000000, not 0"},
        Refusal{"no_qps", "  cluster: {flags: {kube-api-qps: 0}}\n",
                "s.yaml:8:21 spec.cluster.flags.kube-api-qps: must be -1, or 1 and more, not 0"},
        Refusal{"bad_quantity", "  cluster: {nodes: [{name: a, memory: lots}]}\n",
                "s.yaml:8:31 spec.cluster.nodes[0].memory: quantities must match the regular "
                "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        Refusal{"same_node_twice", "  cluster: {nodes: [{name: a}, {name: a}]}\n",
                "s.yaml:8:33 spec.cluster.nodes[1].name: there are two nodes named a"},
        Refusal{"invariant_off_and_violated",
                "  invariants: {except: [{name: times, reason: x}], violated: [{name: times, "
                "reason: z}]}\n",
                "s.yaml:8:3 spec.invariants: times stands under except and under violated"},
        Refusal{
            "unknown_invariant", "  invariants: {except: [{name: tims, reason: x}]}\n",
            "s.yaml:8:26 spec.invariants.except[0].name: unknown invariant \"tims\" (did you mean "
            "times?)"},
        Refusal{"missing_manifest", "  manifests: [no.yaml]\n",
                "s.yaml:8:15 spec.manifests[0]: no.yaml: no such file"},
        Refusal{"missing_dockerfile", "  images: [{name: i, dockerfile: no/Dockerfile}]\n",
                "s.yaml:8:22 spec.images[0].dockerfile: no/Dockerfile: no such file"},
        Refusal{"missing_copy", "  images: [{name: i, copy: [{from: /no/such, to: /x}]}]\n",
                "s.yaml:8:30 spec.images[0].copy[0].from: /no/such: No such file or directory"},
        Refusal{
            "since_unknown_step",
            "  steps: [{name: shot, wait: 1s}]\n  expect: [{never: {of: pods}, since: shoot}]\n",
            "s.yaml:9:32 spec.expect[0].since: no step is named \"shoot\" (did you mean "
            "shot?)"},
        Refusal{"bound_of_finally", "  expect: [{finally: {of: pods}, within: 2s}]\n",
                "s.yaml:8:34 spec.expect[0].within: finally has no bound: it is judged at the end"},
        Refusal{"bad_mode", "  modes: [imaginary]\n",
                "s.yaml:8:11 spec.modes[0]: must be real or virtual, not \"imaginary\""},
        Refusal{"inline_object",
                "  steps:\n  - apply: {object: {apiVersion: v1, kind: Pod, metadata: "
                "{name: 5}}}\n",
                "s.yaml:9:60 spec.steps[0].apply.object.metadata.name: json: cannot unmarshal "
                "number into Go struct field ObjectMeta.metadata.name of type string: write it "
                "in quotes: \"5\""}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ScenarioParser, numbers_are_the_texts_that_were_written) {
  const auto scenario = parse("s.yaml", {{"s.yaml", scenario_text(R"(
  torch: 1.13
  cluster: {nodes: [{name: a, cpu: 1.50, labels: {v: 1.5}}]}
  seed: 18446744073709551615
  images: [{name: i, env: {RATE: 0.01}}]
  steps: [{kill: {of: pod/p, signal: SIGSTOP}}]
  expect: [{eventually: {of: pod/p, condition: mine.example.com/gate}}]
)")}});
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->torch, "1.13");
  EXPECT_EQ(scenario->nodes[0].capacity.at("cpu").str(), "1500m");
  EXPECT_EQ(scenario->nodes[0].labels.at("v"), "1.5");
  EXPECT_EQ(scenario->seed, UINT64_MAX);
  EXPECT_EQ(std::get<Kill>(scenario->steps[0].action).signal, 19);
}

TEST(ScenarioParser, a_command_in_a_pod_is_a_list_and_nothing_that_the_API_refuses) {
  const auto error_of = [](const std::string& steps) {
    const auto scenario = parse("s.yaml", {{"s.yaml", scenario_text("  steps:\n  - " + steps)}});
    return scenario ? std::string() : scenario.error().text();
  };
  EXPECT_EQ(error_of("exec: {of: pod/p, command: [sh, -c, 1]}\n"), "");
  EXPECT_THAT(error_of("exec: {of: pod/p, command: hostname}\n"),
              testing::HasSubstr("spec.steps[0].exec.command: must be a list"));
  EXPECT_THAT(error_of("exec: {of: pod/p}\n"), testing::HasSubstr("command"));
  EXPECT_THAT(error_of("exec: pod/p\n"), testing::HasSubstr("spec.steps[0].exec: must be a map"));
  EXPECT_THAT(error_of("exec: {of: service/p, command: [a]}\n"),
              testing::HasSubstr("only in pods can a command be run"));
  EXPECT_THAT(error_of("exec: {of: pod/p, command: [a], output: '('}\n"),
              testing::HasSubstr("must be a regular expression"));
  EXPECT_THAT(error_of("exec: {of: pod/p, command: [a]}\n    refused: never\n"),
              testing::HasSubstr("only what asks the API can be refused by it"));
  EXPECT_THAT(error_of("patch: {of: pod/p, patch: {}, force: true}\n"),
              testing::HasSubstr("fieldManager and force are of type apply"));
  EXPECT_THAT(error_of("patch: {of: pod/p, patch: [], type: apply}\n"),
              testing::HasSubstr("what is applied is a map"));
}

TEST(ScenarioParser, what_is_measured_is_of_pods_or_has_a_name) {
  const auto error_of = [](const std::string& step) {
    const auto scenario = parse("s.yaml", {{"s.yaml", scenario_text("  steps:\n  - " + step)}});
    return scenario ? std::string() : scenario.error().text();
  };
  EXPECT_EQ(error_of("metrics: {of: pods, cpu: 250m, memory: 2Gi, container: pytorch}\n"), "");
  EXPECT_EQ(error_of("metrics: {of: pytorchjob/x, values: {queue: 30}}\n"), "");
  EXPECT_EQ(error_of("metrics: {values: {queue: 30}}\n"), "");
  EXPECT_THAT(error_of("metrics: {of: pods}\n"),
              testing::HasSubstr("spec.steps[0].metrics: there is nothing measured: cpu, memory or "
                                 "values"));
  EXPECT_THAT(error_of("metrics: {of: pytorchjob/x, cpu: 1}\n"),
              testing::HasSubstr("spec.steps[0].metrics: cpu and memory are of pods"));
  EXPECT_THAT(error_of("metrics: {cpu: 1}\n"), testing::HasSubstr("cpu and memory are of pods"));
  EXPECT_THAT(error_of("metrics: {of: pods, container: c, values: {queue: 1}}\n"),
              testing::HasSubstr("spec.steps[0].metrics.container: only cpu and memory are a "
                                 "container's"));
  EXPECT_THAT(error_of("metrics: {of: pods, cpu: much}\n"),
              testing::HasSubstr("spec.steps[0].metrics.cpu: "));
  EXPECT_THAT(error_of("metrics: {of: pods, cpu: 1}\n    refused: never\n"),
              testing::HasSubstr("only what asks the API can be refused by it"));
}

TEST(ScenarioParser, a_second_scenario_in_a_file_is_refused) {
  const std::string one = scenario_text("  steps: [{wait: 1s}]\n");
  const auto scenario = parse("s.yaml", {{"s.yaml", one + "---\n" + one}});
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().text(), "s.yaml:19:1: a file has one Scenario; this is its second");
}

TEST(ScenarioParser, a_misspelt_kind_of_ours_is_named) {
  const auto scenario = parse(
      "s.yaml", {{"s.yaml", "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenarios\nspec: {}\n"}});
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().text(), "s.yaml:2:1 kind: must be Scenario, not \"Scenarios\"");
}

TEST(ScenarioParser, an_empty_file_is_refused) {
  const auto scenario = parse("s.yaml", {{"s.yaml", "# nothing\n"}});
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().text(), "s.yaml: there is nothing to run: no object and no step");
}

}  // namespace
}  // namespace ddptwin::scenario::scenario_parser_test
