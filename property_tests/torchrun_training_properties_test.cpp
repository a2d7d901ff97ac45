// What a failure and a newcomer cost a training under torchrun (spec/ddp-semantics.md §4).
#include <ostream>

#include "scenario_text.hpp"

namespace ddptwin::property::torchrun_training_properties_test {
namespace {

// What all agents here are told, and where their workers keep checkpoints: the rest of a template,
// from its variables on.
constexpr const char* agent =
    R"(            - {name: TORCH_DISABLE_SHARE_RDZV_TCP_STORE, value: "1"}
            - {name: PET_REDIRECTS, value: "0:1"}
            - {name: PET_TEE, value: "0:1"}
            volumeMounts:
            - {name: checkpoints, mountPath: /checkpoints}
          volumes:
          - name: checkpoints
            hostPath: {path: /var/lib/checkpoints, type: DirectoryOrCreate})";

std::string with_agent(const char* source) { return filled_in(source, "AGENT", agent); }

// The fields of Crash stand for themselves.
constexpr const char* torchrun_text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: torchrun}
spec:
  modes: [virtual]
  expect:
  - eventually: {of: pytorchjob/train, condition: Succeeded}
    within: 1h
  - eventually: {of: pods, log: failing rank RANK at step STEP}
  - eventually: {of: pods, count: NODES, restarts: 0, phase: Succeeded}
  timeout: 2h
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  nprocPerNode: "PROCESSES"
ELASTIC
  pytorchReplicaSpecs:
    FIRST
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: ddptwin-worker
            command: [torchrun, --no_python, --max_restarts=3, ddptwin-worker]
            args: [--steps, "12", --step-time, 100ms, --allocate, 8Mi, --checkpoint, /checkpoints/c,
                   --checkpoint-every, "2", --fail-at-step, "STEP",
                   --fail-rank, "RANK", --fail-code, "CODE", --fail-once]
            resources: {limits: {memory: MEMORY}}
            env:
            - {name: PET_MONITOR_INTERVAL, value: "TICK"}
AGENT
SECOND
)";

// One rank fails once.
struct Crash {
  int nodes = 2, processes = 1;
  bool elastic = false;
  std::string torch{};
  int rank = 0, step = 1, code = 1, interval = 1;
  std::uint64_t seed = 1;
};

void showValue(const Crash& crash, std::ostream& out) {
  out << crash.nodes << " nodes of " << crash.processes << (crash.elastic ? ", c10d" : ", static")
      << ", PyTorch " << crash.torch << ", rank " << crash.rank << " fails with " << crash.code
      << " after step " << crash.step << ", looked at every " << crash.interval << " s, seed "
      << crash.seed;
}

// Of PyTorch 2.x those jobs whose restarted ranks do not meet their predecessors' addresses
// (scenarios/torchrun/stale-addresses.yaml).
Crash any_crash() {
  Crash crash;
  crash.nodes = *gen::inRange(2, 5);
  crash.processes = *gen::inRange(1, 3);
  crash.elastic = *gen::arbitrary<bool>();
  crash.torch = crash.elastic ? *gen::element<std::string>("1.13", "2.x") : "1.13";
  crash.rank = *gen::inRange(0, crash.nodes * crash.processes);
  crash.step = *gen::inRange(1, 11);
  crash.code = *gen::element(1, 7, 137);
  crash.interval = *gen::inRange(1, 6);
  crash.seed = *gen::inRange<std::uint64_t>(1, 1'000'000);
  return crash;
}

std::string text_of(const Crash& crash) {
  const std::string nodes = std::to_string(crash.nodes);
  const std::string all = "Worker:\n      replicas: " + nodes;
  const std::string others = "    Worker:\n      <<: *replica\n      replicas: ";
  std::string source = with_agent(torchrun_text);
  source = filled_in(source, "FIRST", crash.elastic ? all : "Master: &replica\n      replicas: 1");
  source =
      filled_in(source, "SECOND", crash.elastic ? "" : others + std::to_string(crash.nodes - 1));
  source = filled_in(source, "ELASTIC",
                     crash.elastic ? "  elasticPolicy: {minReplicas: " + nodes + ", maxReplicas: " +
                                         nodes + ", rdzvBackend: c10d, maxRestarts: 3}"
                                   : "");
  source = filled_in(source, "PROCESSES", std::to_string(crash.processes));
  // Room for one generation of workers, of 10 MiB each, and not for two.
  source = filled_in(source, "MEMORY", std::to_string(10 * crash.processes + 5) + "Mi");
  source = filled_in(source, "NODES", nodes);
  source = filled_in(source, "RANK", std::to_string(crash.rank));
  source = filled_in(source, "STEP", std::to_string(crash.step));
  source = filled_in(source, "CODE", std::to_string(crash.code));
  return filled_in(source, "TICK", std::to_string(crash.interval));
}

// The agents start the group anew, and Kubernetes sees nothing of it (spec/ddp-semantics.md §4.4).
TEST(TrainingProperties, ARankThatFailsOnceUnderTorchrunCostsNoPod) {
  holds(
      [] {
        const auto drawn = gen::resize(rc::kNominalSize, gen::exec(any_crash));
        const Crash crash = *drawn.as("crash");
        scenario::VirtualOptions options;
        options.seed = crash.seed;
        options.torch = crash.torch;
        RC_ASSERT(result_of(text_of(crash), options).passed());
      },
      scenario_cost);
}

// --- a script of the user's that keeps nothing ---

constexpr const char* described_text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: described}
spec:
  modes: [virtual]
  images:
  - name: script
    model: {steps: 12, stepTime: 100ms, fail: {atStep: STEP, rank: RANK, code: CODE, once: true}}
  expect:
  - eventually: {of: pytorchjob/train, condition: Succeeded}
    within: 1h
  - eventually: {of: pod/train-master-0, log: failing rank RANK at step STEP}
  - eventually: {of: pod/train-master-0, restarts: 0, phase: Succeeded}
  timeout: 2h
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: script
            command: [torchrun, --standalone, "--nproc_per_node=PROCESSES", --max_restarts=RESTARTS,
                      "--redirects=0:1", "--tee=0:1", train.py]
)";

// Once is once in a container, whoever starts the script again (docs/reference/scenario.md, fail).
TEST(TrainingProperties, ADescribedScriptThatFailsOnceFailsInOneOfItsAgentsAttempts) {
  holds(
      [] {
        const auto drawn = [](int from, int to, const char* what) {
          return *gen::resize(rc::kNominalSize, gen::inRange(from, to)).as(what);
        };
        scenario::VirtualOptions options;
        options.torch = *gen::element<std::string>("1.13", "2.x").as("PyTorch");
        // Of 2.x two workers that are started again do not meet (spec/ddp-semantics.md §9.5).
        const int processes = options.torch == "2.x" ? 1 : drawn(1, 4, "processes");
        std::string text = described_text;
        text = filled_in(text, "PROCESSES", std::to_string(processes));
        text = filled_in(text, "RANK", std::to_string(drawn(0, processes, "the rank that fails")));
        text = filled_in(text, "STEP", std::to_string(drawn(1, 12, "after step")));
        text = filled_in(text, "CODE", std::to_string(*gen::element(1, 7, 137).as("with code")));
        text = filled_in(text, "RESTARTS", std::to_string(drawn(1, 4, "restarts of the agent")));
        options.seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        RC_ASSERT(result_of(text, options).passed());
      },
      scenario_cost);
}

// --- a node more ---

constexpr const char* newcomer_text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: newcomer}
spec:
  modes: [virtual]
  steps:
  - name: scale-up
    patch:
      of: pytorchjob/train
      patch: {spec: {pytorchReplicaSpecs: {Worker: {replicas: ALL}}}}
    when: {of: pod/train-worker-0, step: EARLY}
  expect:
  - eventually: {of: pods, log: joined rank LAST world_size ALL}
    since: scale-up
    within: 20s
  - eventually: {of: pods, log: failing rank 0 at step LATE}
  - eventually: {of: pytorchjob/train, condition: Succeeded}
  - eventually: {of: pods, count: ALL, restarts: 0, phase: Succeeded}
  - eventually: {of: pods, log: "failed .exitcode: 1. local_rank"}
    since: scale-up
    within: 15s
  timeout: 10m
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  nprocPerNode: "1"
  elasticPolicy:
    minReplicas: 1
    maxReplicas: ALL
    rdzvBackend: c10d
    maxRestarts: 1
    rdzvConf:
    - {key: last_call_timeout, value: "3"}
  pytorchReplicaSpecs:
    Worker:
      replicas: LAST
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: ddptwin-worker
            command: [torchrun, --no_python, ddptwin-worker]
            args: [--steps, "400", --step-time, 100ms, --checkpoint, /checkpoints/c,
                   --checkpoint-every, "2", --fail-at-step, "LATE", --fail-rank, "0",
                   --fail-code, "7", --fail-once]
            env:
AGENT
)";

// The one restart that the agents have is still theirs after a node has joined
// (spec/ddp-semantics.md §4.4, "accounting"); but not of an agent that looks after its workers so
// late that they have died of those its neighbour stopped for the newcomer: theirs has failed.
TEST(TrainingProperties, ANodeThatJoinsCostsNoRestart) {
  holds(
      [] {
        const int nodes = *gen::inRange(1, 4).as("nodes");
        std::string source = with_agent(newcomer_text);
        source = filled_in(source, "ALL", std::to_string(nodes + 1));
        source = filled_in(source, "LAST", std::to_string(nodes));
        source = filled_in(source, "EARLY", std::to_string(*gen::inRange(2, 40).as("joins at")));
        source = filled_in(source, "LATE", std::to_string(*gen::inRange(250, 390).as("fails at")));
        scenario::VirtualOptions options;
        options.seed = *gen::inRange<std::uint64_t>(1, 1'000'000).as("seed");
        options.torch = "2.x";
        const scenario::RunResult result = result_of(source, options);
        const auto held = [&](std::size_t expectation) {
          return result.expectations.at(expectation).verdict == scenario::Verdict::held;
        };
        const bool died_of_its_neighbour = held(4);
        for (std::size_t i = 0; i < 4; ++i) RC_ASSERT(held(i) || (i == 3 && died_of_its_neighbour));
        RC_CLASSIFY(died_of_its_neighbour);
      },
      scenario_cost);
}

}  // namespace
}  // namespace ddptwin::property::torchrun_training_properties_test
