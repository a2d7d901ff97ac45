// Whole runs in virtual time: clusters that stand still for eight hours, each in its own way, and
// some that are slow but well.
#include "scenario/invariants/standstill.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::invariants::standstill_test {
namespace {

constexpr const char* trains =
    "{name: pytorch, image: ddptwin-worker, args: [--steps, '20', "
    "--step-time, 1s, --timeout, 24h]}";
// It prints no steps, and fails as its variant of the image says.
constexpr const char* mute = "{name: pytorch, image: mute, command: [python, train.py]}";
constexpr const char* crashes = "{name: pytorch, image: crashes, command: [python, train.py]}";

struct Pods {
  std::string master = "containers: [" + std::string(trains) + "]";
  std::string worker = master;
  std::string policy = "OnFailure";
  std::string run_policy = "{}";
};

std::string job(const Pods& pods, const std::string& name = "train") {
  std::string text =
      "---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: " + name +
      "}\nspec:\n  runPolicy: " + pods.run_policy + "\n  pytorchReplicaSpecs:\n";
  for (const auto& [type, spec] : {std::pair("Master", pods.master), {"Worker", pods.worker}})
    text += "    " + std::string(type) +
            ":\n      replicas: 1\n      restartPolicy: " + pods.policy +
            "\n      template: {spec: {" + spec + "}}\n";
  return text;
}

std::string scenario(const std::string& spec, const std::string& jobs) {
  return "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
         "  modes: [virtual]\n" +
         spec +
         "  images:\n"
         "  - {name: mute, model: {steps: 4, stepTime: 50m, prints: {step: [], joined: [], "
         "finished: []}}}\n"
         "  - {name: talks, model: {steps: 9, stepTime: 50m, prints: {step: ['epoch {step}'], "
         "joined: [], finished: []}}}\n"
         "  - {name: crashes, model: {steps: 9, stepTime: 20s, fail: {atStep: 3, code: 137}}}\n"
         "  - {name: falls, model: {steps: 9, stepTime: 5s, fail: {atStep: 1}, prints: {step: [], "
         "joined: [hello], finished: []}}}\n"
         "  - {name: big, missing: true}\n  - {name: busybox}\n" +
         jobs;
}

std::string wait(const std::string& steps = "") {
  return "  timeout: 9h\n  steps:\n" + steps + "  - wait: 8h\n";
}

std::string stop(const std::string& pod, const std::string& when) {
  return "  - {when: " + when + ", kill: {of: pod/" + pod + ", signal: STOP}}\n";
}

// What `progress` said of the run; empty: it held.
std::string said(const std::string& text, bool* asked = nullptr) {
  static const KindRegistry kinds;
  const auto parsed = parse_scenario("s.yaml", kinds,
                                     [&](const std::string&) { return Result<std::string>(text); });
  if (!parsed) return "not parsed: " + parsed.error().text();
  VirtualRun run(*parsed, {});
  if (const Status started = run.start(); !started) return "no start: " + started.error().text();
  if (const auto result = run.finish(); !result) return "no end: " + result.error().text();
  for (const auto& judged : run.engine().invariants()) {
    if (judged.row->name != "progress") continue;
    if (asked != nullptr) *asked = judged.asked;
    return judged.violation == nullptr ? "" : judged.violation->text;
  }
  return "not watched";
}

struct Standstill {
  const char* name;
  std::string text;
  std::vector<std::string> says;
};

std::vector<Standstill> standstills() {
  const std::string step5 = "{of: pod/train-master-0, step: 5}";
  const std::string secret = "volumes: [{name: s, secret: {secretName: nobody-makes-it}}], ";
  const auto with = [](const auto& edit) {
    Pods pods;
    edit(pods);
    return job(pods);
  };
  const std::string kept = "containers: [" + std::string(trains) +
                           ", {name: proxy, image: busybox, command: [sleep, '999999']}]";
  return {
      {"both ranks are stopped at step 5",
       scenario(wait(stop("train-master-0", step5) + "  - {kill: {of: pod/train-worker-0, signal: "
                                                     "STOP}}\n"),
                job({})),
       {"since step 5 of 20",
        "pod/train-master-0 container pytorch was stopped by signal "
        "19 45m0s ago",
        "pod/train-worker-0 container pytorch was stopped by signal 19"}},
      {"one rank is stopped and the other waits for it",
       scenario(wait(stop("train-worker-0", step5)), job({})),
       {"since step ", "pod/train-worker-0 container pytorch was stopped by signal 19",
        "pod/train-master-0 runs, and waits after step "}},
      {"no pod is ever placed",
       scenario("  cluster: {nodes: [{name: node, unschedulable: true}]}\n" + wait(), job({})),
       {"pod/train-master-0 waits for a node: Unschedulable: 0/1 nodes are available"}},
      {"the scheduler that the pods name is nobody",
       scenario(wait(), with([](Pods& pods) {
                  pods.master = pods.worker = "schedulerName: volcano, " + pods.master;
                })),
       {"pod/train-worker-0 waits for the scheduler volcano, which says nothing"}},
      {"a Secret that nobody makes",
       scenario(wait(), with([&](Pods& pods) { pods.worker = secret + pods.worker; })),
       {"pod/train-worker-0 its containers are not made: FailedMount: ",
        "\"nobody-makes-it\" not found"}},
      {"an image that no registry has",
       scenario(wait(), with([](Pods& pods) {
                  pods.worker = "containers: [{name: pytorch, image: big}]";
                })),
       {"pod/train-worker-0 container pytorch waits: "}},
      {"a container that crashes again and again after the same step",
       scenario(wait(), with([](Pods& pods) {
                  pods.master = pods.worker = "containers: [" + std::string(crashes) + "]";
                })),
       {" restarts since"}},
      {"pods that fail and are made anew again and again",
       scenario(wait(), with([](Pods& pods) {
                  pods.master = pods.worker = "containers: [" + std::string(crashes) + "]";
                  pods.policy = "ExitCode";
                })),
       {" restarts since"}},
      {"a script without step lines that crashes again and again",
       scenario(wait(), with([](Pods& pods) {
                  pods.master = pods.worker =
                      "containers: [{name: pytorch, image: falls, command: [python, train.py]}]";
                })),
       {" restarts since"}},
      {"a sidecar keeps a job that has trained to the end",
       scenario(wait(), with([&](Pods& pods) { pods.master = pods.worker = kept; })),
       {"pod/train-master-0 container pytorch ended with exit 0 (Completed), and the pod "
        "goes on for as long as proxy runs"}},
      {"a job without step lines is stopped",
       scenario(wait("  - {after: 1m, kill: {of: pod/train-master-0, signal: STOP}}\n"),
                with([](Pods& pods) {
                  pods.master = pods.worker = "containers: [" + std::string(mute) + "]";
                })),
       {"pod/train-master-0 container pytorch was stopped by signal 19",
        "pod/train-worker-0 runs, and says nothing"}},
      {"an init container that never ends",
       scenario(wait(), with([](Pods& pods) {
                  pods.worker =
                      "initContainers: [{name: data, image: busybox, command: [sh, -c, 'while "
                      "true; do echo no data yet; sleep 30; done']}], " +
                      pods.worker;
                })),
       {"pod/train-worker-0 init container data does not end, its last words: \"no data "
        "yet\""}},
  };
}

TEST(Standstill, of_eight_hours_is_told_with_who_waits_for_what) {
  for (const Standstill& one : standstills()) {
    const std::string told = said(one.text);
    for (const std::string& words : one.says)
      EXPECT_THAT(told, testing::HasSubstr(words)) << one.name;
  }
}

struct Slow {
  const char* name;
  std::string text;
};

std::vector<Slow> slow_ones() {
  const auto with = [](const std::string& containers, const std::string& init = "") {
    Pods pods;
    pods.master = pods.worker = init + "containers: [" + containers + "]";
    return pods;
  };
  const auto steps = [](const std::string& number, const std::string& time) {
    return "{name: pytorch, image: ddptwin-worker, args: [--steps, '" + number +
           "', --step-time, " + time + "]}";
  };
  const std::string ends =
      "  timeout: 30h\n  expect:\n  - eventually: {of: pytorchjob/train, condition: "
      "Succeeded}\n";
  Pods first = with(steps("40", "10m")), second = with(steps("3", "1s"));
  for (std::string* pod : {&first.master, &first.worker, &second.master, &second.worker})
    pod->insert(pod->size() - 2, ", resources: {limits: {nvidia.com/gpu: 4}}");
  second.run_policy = "{suspend: true}";
  Pods later = with(steps("20", "1s"));
  later.run_policy = "{suspend: true}";
  return {
      {"steps of two hours", scenario(ends, job(with(steps("5", "2h"))))},
      {"a script that says nothing for three hours", scenario(ends, job(with(mute)))},
      {"a script that tells of its epochs, and of no steps",
       scenario(ends, job(with("{name: pytorch, image: talks, command: [python, train.py]}")))},
      {"a data set that takes three hours",
       scenario(ends, job(with(trains,
                               "initContainers: [{name: data, image: busybox, command: "
                               "[sleep, '10800']}], ")))},
      {"a job that waits for the place of another",
       scenario(
           "  cluster: {nodes: [{name: node, resources: {nvidia.com/gpu: '8'}}]}\n"
           "  timeout: 30h\n  expect:\n  - eventually: {of: pytorchjob/second, condition: "
           "Succeeded}\n"
           "  steps:\n  - {after: 1m, patch: {of: pytorchjob/second, patch: {spec: {runPolicy: "
           "{suspend: false}}}}}\n",
           job(first) + job(second, "second"))},
      {"a job that is suspended for eight hours",
       scenario(ends + "  steps:\n  - wait: 8h\n  - patch: {of: pytorchjob/train, patch: {spec: "
                       "{runPolicy: {suspend: false}}}}\n",
                job(later))},
      {"a job that begins anew after an hour of steps",
       scenario(ends + "  steps:\n  - {when: {of: pod/train-master-0, step: 60}, kill: "
                       "pod/train-worker-0}\n",
                job(with(steps("70", "1m"))))},
  };
}

TEST(Standstill, is_not_what_is_slow_but_well) {
  for (const Slow& one : slow_ones()) {
    bool asked = false;
    EXPECT_EQ(said(one.text, &asked), "") << one.name;
    EXPECT_TRUE(asked) << one.name << " has not come to its end";
  }
}

TEST(Standstill, has_the_bound_that_the_scenario_gives) {
  const std::string bound = "  invariants: {progressWithin: 1h}\n";
  Pods pods;
  pods.master = pods.worker =
      "containers: [{name: pytorch, image: ddptwin-worker, args: [--steps, '2', --step-time, 2h]}]";
  EXPECT_THAT(said(scenario(bound + wait(), job(pods))),
              testing::HasSubstr("has come no further for 1h0m0s"));
  EXPECT_EQ(said(scenario(wait(), job(pods))), "");
}

}  // namespace
}  // namespace ddptwin::scenario::invariants::standstill_test
