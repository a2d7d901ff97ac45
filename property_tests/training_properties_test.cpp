// Modelled workers that really train (spec/ddp-semantics.md), hit at every port they have: killed,
// cut off, slowed down, misled by the DNS. While that goes on, what upstream keeps is kept;
// afterwards the training comes to its end.
#include <ostream>

#include "property.hpp"
#include "scenario/expect.hpp"
#include "scenario/faults/fault_yaml.hpp"
#include "scenario/scenario_parser.hpp"
#include "scenario/virtual_run.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;
using scenario::Fault;
using scenario::FaultKind;

constexpr int run_cost = 5;
constexpr Duration healed_after = 4min;

// Ranks that die by their peers' death exit with 138, retryable under ExitCode; those that do not
// even meet exit with 1, which is not. So such a job may fail, and must come to an end of some
// kind.
constexpr const char* text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: training}
spec:
  modes: [virtual]
EXPECT
  timeout: 4h
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master: &replica
      replicas: 1
      restartPolicy: POLICY
      template:
        spec:
          containers:
          - name: pytorch
            image: ddptwin-worker
            args: [--steps, "12", --step-time, 1s, --checkpoint, /checkpoints/c,
                   --checkpoint-every, "2", --timeout, 2m, --peer-loss-code, "138"]
            volumeMounts:
            - {name: checkpoints, mountPath: /checkpoints}
          volumes:
          - name: checkpoints
            hostPath: {path: /var/lib/checkpoints, type: DirectoryOrCreate}
    Worker:
      <<: *replica
      replicas: 2
)";

constexpr const char* succeeds = R"(  expect:
  - eventually: {of: pytorchjob/train, condition: Succeeded}
    within: 3h
  - eventually: {of: pod/train-master-0, log: finished rank 0 steps 12})";

constexpr const char* unrestarted = R"(
  - finally: {of: pods, count: 3, restarts: 0})";

std::string filled_in(std::string source, std::string_view word, const std::string& value) {
  RC_ASSERT(source.find(word) != source.npos);
  for (std::size_t at = source.find(word); at != source.npos; at = source.find(word))
    source.replace(at, word.size(), value);
  return source;
}

std::string scenario_text(const std::string& policy, const std::string& expect) {
  return filled_in(filled_in(text, "POLICY", policy), "EXPECT", expect);
}

struct Training {
  std::string policy{};
  std::string torch{};
  std::uint64_t seed = 1;
  scenario::FaultPlan faults{};
};

void showValue(const Training& training, std::ostream& out) {
  out << training.policy << ", PyTorch " << training.torch << ", seed " << training.seed;
  for (const Fault& fault : training.faults.faults) out << "\n- fault: " << to_yaml(fault);
}

Fault any_fault() {
  static const std::vector<std::string> pods{"train-master-0", "train-worker-0", "train-worker-1"};
  Fault fault;
  fault.kind =
      *gen::element(FaultKind::process_kill, FaultKind::process_kill, FaultKind::link_drop,
                    FaultKind::link_reset, FaultKind::link_delay, FaultKind::dns_late,
                    FaultKind::dns_lost, FaultKind::dns_servfail, FaultKind::dns_nxdomain,
                    FaultKind::dns_wrong, FaultKind::kubelet_restart, FaultKind::controller_crash);
  const scenario::FaultRow& row = row_of(fault.kind);
  if (row.port == "process" || row.port == "link") fault.of = *gen::elementOf(pods);
  if (row.port == "link" && *gen::arbitrary<bool>()) fault.to = *gen::elementOf(pods);
  if (row.port == "controller") fault.of = "training-operator";
  if (fault.kind == FaultKind::dns_wrong) fault.address = "10.99.0.1";
  fault.at = std::chrono::seconds(*gen::inRange(0, 40));
  if (takes(row, "for")) fault.lasts = std::chrono::seconds(*gen::inRange(1, 90));
  return fault;
}

Training any_training() {
  Training training;
  training.policy = *gen::element<std::string>("OnFailure", "OnFailure", "ExitCode");
  const auto& names = scenario::torch_profile_names();
  training.torch = *gen::elementOf(std::vector<std::string_view>(names.begin(), names.end()));
  training.seed = *gen::inRange<std::uint64_t>(1, 1'000'000);
  for (int n = *gen::inRange(0, 4); n > 0; --n) training.faults.faults.push_back(any_fault());
  training.faults.heal = healed_after;
  return training;
}

// Runs the text under these faults. Every invariant holds.
scenario::RunResult result_of(const std::string& source, const scenario::VirtualOptions& options) {
  const KindRegistry kinds;
  const auto parsed = scenario::parse_scenario(
      "training.yaml", kinds, [&](const std::string&) -> Result<std::string> { return source; });
  if (!parsed) RC_FAIL(parsed.error().text());
  const auto result = run_virtually(*parsed, options);
  if (!result) RC_FAIL(result.error().text());
  for (const auto* judged : {&result->expectations, &result->invariants})
    for (const auto& one : *judged)
      RC_LOG() << one.name << ": " << scenario::to_string(one.verdict) << " " << one.detail << "\n";
  for (const auto& one : result->invariants) RC_ASSERT(one.verdict != scenario::Verdict::failed);
  return *result;
}

// A worker has ended well while the master was brought down: behind the last all-reduce, which
// comes before the last step's own work. It waits for ever for peers that will not come again
// (scenarios/pytorchjob/killed-in-the-last-step.yaml).
bool is_left_alone(const Training& training, const scenario::RunResult& result) {
  if (training.faults.faults.empty()) return false;
  bool waits = false, worker_done = false;
  for (const scenario::PodEnd& pod : result.pods) {
    const bool done = pod.state.starts_with("Succeeded");
    if (pod.name == "default/train-master-0")
      waits = !done && pod.restarts > 0;
    else
      worker_done = worker_done || done;
  }
  return waits && worker_done;
}

scenario::VirtualOptions options_of(const Training& training) {
  scenario::VirtualOptions options;
  options.seed = training.seed;
  options.torch = training.torch;
  options.faults = &training.faults;
  return options;
}

TEST(TrainingProperties, ItComesToItsEndOnceNothingGoesWrong) {
  holds(
      [] {
        const auto drawn = gen::resize(rc::kNominalSize, gen::exec(any_training));
        const Training training = *drawn.as("training");
        const auto result = result_of(
            scenario_text(training.policy, training.policy == "OnFailure" ? succeeds : ""),
            options_of(training));
        const bool alone = is_left_alone(training, result);
        RC_CLASSIFY(alone, "the master is left alone");
        RC_ASSERT(result.passed() || alone);
      },
      run_cost);
}

// A name that is not answered. It begins about when a worker's init container has heard it and the
// worker itself has not asked yet.
Fault any_silence() {
  Fault fault;
  fault.kind = *gen::element(FaultKind::dns_late, FaultKind::dns_lost, FaultKind::dns_servfail,
                             FaultKind::dns_nxdomain);
  fault.at = std::chrono::milliseconds(*gen::inRange(55, 130));
  fault.lasts = std::chrono::seconds(*gen::inRange(1, 60));
  return fault;
}

Training any_silent_training() {
  Training training;
  training.policy = "OnFailure";
  const auto& names = scenario::torch_profile_names();
  training.torch = *gen::elementOf(std::vector<std::string_view>(names.begin(), names.end()));
  training.seed = *gen::inRange<std::uint64_t>(1, 1'000'000);
  training.faults.faults = {any_silence()};
  training.faults.heal = healed_after;
  return training;
}

// The store's client asks for its master's name until its timeout is over, here two minutes
// (FM-086, spec/ddp-semantics.md §9.2): what lasts no longer than one of them costs nobody a
// restart.
TEST(TrainingProperties, ANameThatIsLateCostsNobodyARestart) {
  holds(
      [] {
        const auto drawn = gen::resize(rc::kNominalSize, gen::exec(any_silent_training));
        const Training training = *drawn.as("training");
        const std::string expect = std::string(succeeds) + unrestarted;
        RC_ASSERT(result_of(scenario_text("OnFailure", expect), options_of(training)).passed());
      },
      run_cost);
}

// --- a rank that is stopped ---

// The words in capitals stand for the fields of Hang.
constexpr const char* hang_text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: hang}
spec:
  modes: [virtual]
  images:
  - {name: trainer, model: {steps: 20, stepTime: WORKs, timeout: TIMEOUTs}}
  steps:
  - name: hung
    kill: {of: pod/train-worker-0, signal: 19}
    when: {of: pod/train-worker-0, step: STEP}
  expect:
  - never: {of: pod/train-master-0, phase: Failed}
    since: hung
    within: EARLY
  - eventually: {of: pod/train-master-0, phase: Failed}
    since: hung
    within: LATE
  timeout: 30m
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  runPolicy: {cleanPodPolicy: None}
  pytorchReplicaSpecs:
    Master: &replica
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: trainer
            command: [python, train.py]
    Worker: *replica
)";

struct Hang {
  int step = 1, work = 1, timeout = 60;  // the last two in seconds
  std::string torch{};
  std::uint64_t seed = 1;
};

void showValue(const Hang& hang, std::ostream& out) {
  out << "after step " << hang.step << " of " << hang.work << " s, timeout " << hang.timeout
      << " s, PyTorch " << hang.torch << ", seed " << hang.seed;
}

Hang any_hang() {
  Hang hang;
  hang.step = *gen::inRange(1, 6);
  hang.work = *gen::element(0, 1, 7, 30);
  hang.timeout = *gen::element(20, 60, 200);
  const auto& names = scenario::torch_profile_names();
  hang.torch = *gen::elementOf(std::vector<std::string_view>(names.begin(), names.end()));
  hang.seed = *gen::inRange<std::uint64_t>(1, 1'000'000);
  return hang;
}

// Its peer does its own work of the next step, enters the collective and waits there for the
// timeout, no more and no less (spec/ddp-semantics.md §3.2).
TEST(TrainingProperties, AHungPeerIsWaitedForAsLongAsTheTimeoutSays) {
  holds(
      [] {
        const auto drawn = gen::resize(rc::kNominalSize, gen::exec(any_hang));
        const Hang hang = *drawn.as("hang");
        const int waits = hang.work + hang.timeout;
        std::string source = filled_in(hang_text, "STEP", std::to_string(hang.step));
        source = filled_in(source, "WORK", std::to_string(hang.work));
        source = filled_in(source, "TIMEOUT", std::to_string(hang.timeout));
        source = filled_in(source, "EARLY", std::to_string(waits - 1) + "s");
        source = filled_in(source, "LATE", std::to_string(waits + 3) + "s");
        scenario::VirtualOptions options;
        options.seed = hang.seed;
        options.torch = hang.torch;
        RC_ASSERT(result_of(source, options).passed());
      },
      run_cost);
}

// The words in capitals are filled in.
constexpr const char* given_up_text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: given-up}
spec:
  modes: [virtual]
  images:
  - {name: trainer, model: {steps: 20, stepTime: WORKms, timeout: 20s}}
  - {name: later, model: {steps: 20, stepTime: LATERms, timeout: 20s}}
  steps:
  - name: hung
    kill: {of: pod/train-worker-1, signal: 19}
    when: {of: pod/train-worker-1, step: 3}
  expect:
  - eventually: {of: pod/train-FIRST-0, log: Timed out waiting 20000ms}
  - eventually: {of: pod/train-SECOND-0, log: closed by peer}
  timeout: 10m
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  runPolicy: {cleanPodPolicy: None}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - {name: pytorch, image: MASTER, command: [python, train.py]}
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          containers:
          - {name: pytorch, image: WORKER, command: [python, train.py]}
)";

// Of a rank that hangs the first who waits is the first to give up; that closes its connections,
// and who began to wait later has no timeout of its own to wait for (spec/ddp-semantics.md §3.2,
// §9).
TEST(TrainingProperties, WhoGivesUpLeavesNobodyWaiting) {
  holds(
      [] {
        const bool master_first = *gen::arbitrary<bool>().as("the master waits first");
        const int work = *gen::element(100, 1'000, 7'000).as("ms of a step");
        const int behind = *gen::element(50, 100, 300, 800, 3'000).as("ms behind it");
        std::string source = filled_in(given_up_text, "MASTER", master_first ? "trainer" : "later");
        source = filled_in(source, "WORKER", master_first ? "later" : "trainer");
        source = filled_in(source, "FIRST", master_first ? "master" : "worker");
        source = filled_in(source, "SECOND", master_first ? "worker" : "master");
        source = filled_in(source, "WORK", std::to_string(work));
        source = filled_in(source, "LATER", std::to_string(work + behind));
        const auto& names = scenario::torch_profile_names();
        scenario::VirtualOptions options;
        options.seed = *gen::inRange<std::uint64_t>(1, 1'000'000).as("seed");
        options.torch = *gen::elementOf(std::vector<std::string_view>(names.begin(), names.end()))
                             .as("PyTorch");
        RC_ASSERT(result_of(source, options).passed());
      },
      run_cost);
}

// --- torchrun ---

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
            args: [--steps, "12", --step-time, 100ms, --checkpoint, /checkpoints/c,
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
  // Room for one generation of workers, of 2 MiB each (spec/ddp-semantics.md §1.3).
  source = filled_in(source, "MEMORY", std::to_string(2 * crash.processes + 1) + "Mi");
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
      run_cost);
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
// (spec/ddp-semantics.md §4.4, "accounting").
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
        RC_ASSERT(result_of(source, options).passed());
      },
      run_cost);
}

// --- checkpoints ---

constexpr const char* again_text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: again}
spec:
  modes: [virtual]
  expect:
  - eventually: {of: pods, log: resumed from step STEPS}
  timeout: 10m
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: Always
      template:
        spec:
          containers:
          - name: pytorch
            image: ddptwin-worker
            args: [--steps, "STEPS", --step-time, 10ms, --checkpoint, /checkpoints/c,
                   --checkpoint-every, "EVERY"]
            env:
            - {name: MASTER_ADDR, value: train-worker-0}
            - {name: MASTER_PORT, value: "23456"}
            - {name: WORLD_SIZE, value: "1"}
            - {name: RANK, value: "0"}
            volumeMounts:
            - {name: checkpoints, mountPath: /checkpoints}
          volumes:
          - name: checkpoints
            emptyDir: {}
)";

// Rank 0 writes one after the last step too (sim/workers/README.md): a container that is started
// again after its end has nothing left to do.
TEST(TrainingProperties, WhatIsDoneIsNotDoneAgain) {
  holds(
      [] {
        std::string source = again_text;
        source = filled_in(source, "STEPS", std::to_string(*gen::inRange(1, 40).as("steps")));
        source = filled_in(source, "EVERY", std::to_string(*gen::inRange(1, 12).as("every")));
        scenario::VirtualOptions options;
        options.seed = *gen::inRange<std::uint64_t>(1, 1'000'000).as("seed");
        RC_ASSERT(result_of(source, options).passed());
      },
      run_cost);
}

}  // namespace
}  // namespace ddptwin::property
