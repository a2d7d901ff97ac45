// Modelled workers that really train (spec/ddp-semantics.md), hit at every port they have: killed,
// cut off, slowed down, misled by the DNS. While that goes on, what upstream keeps is kept;
// afterwards the training comes to its end.
#include <algorithm>
#include <ostream>

#include "property.hpp"
#include "runtime/model/test_pods.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario_text.hpp"

namespace ddptwin::property::training_properties_test {
namespace {

using scenario::Fault;
using scenario::FaultKind;

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
  const auto& names = scenario::measured_torch_names();
  training.torch = *gen::elementOf(std::vector<std::string_view>(names.begin(), names.end()));
  training.seed = *gen::inRange<std::uint64_t>(1, 1'000'000);
  for (int n = *gen::inRange(0, 4); n > 0; --n) training.faults.faults.push_back(any_fault());
  training.faults.heal = healed_after;
  return training;
}

// Runs the text under these faults. Every invariant holds.
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
      scenario_cost);
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
  const auto& names = scenario::measured_torch_names();
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
      scenario_cost);
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
  const auto& names = scenario::measured_torch_names();
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
      scenario_cost);
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
  - eventually: {of: pod/train-SECOND-0, log: 'closed by peer|Timed out waiting 20000ms'}
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
// and who began to wait later hears of that, or its transfer is with the rank that hangs and ends
// after its own timeout (spec/ddp-semantics.md §3.2, §9; measured with PyTorch 1.13).
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
        const auto& names = scenario::measured_torch_names();
        scenario::VirtualOptions options;
        options.seed = *gen::inRange<std::uint64_t>(1, 1'000'000).as("seed");
        options.torch = *gen::elementOf(std::vector<std::string_view>(names.begin(), names.end()))
                             .as("PyTorch");
        RC_ASSERT(result_of(source, options).passed());
      },
      scenario_cost);
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
      scenario_cost);
}

// Of a checkpoint that is beyond the new target nothing is left to do (§5.6).
TEST(TrainingProperties, AResumedTrainingDoesWhatIsLeftOfIt) {
  holds([] {
    const int first = *gen::inRange(1, 30).as("steps of the first");
    const int second = *gen::inRange(1, 30).as("steps of the second");
    model::TestPods pods({.seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed")});
    pods.pod("pod-0");
    for (const int steps : {first, second}) {
      const std::size_t before = pods.lines().size();
      pods.rank(0, 1,
                {"--steps", std::to_string(steps), "--step-time", "100ms", "--checkpoint",
                 "/shared/c", "--checkpoint-every", "1"});
      RC_ASSERT(pods.exit_code("pod-0") == 0);
      const auto& lines = pods.lines();
      const auto done = std::count_if(
          lines.begin() + static_cast<std::ptrdiff_t>(before), lines.end(),
          [](const model::TestPods::Line& line) { return line.text.starts_with("step "); });
      RC_ASSERT(done == (before == 0 ? first : std::max(0, second - first)));
    }
  });
}

}  // namespace
}  // namespace ddptwin::property::training_properties_test
