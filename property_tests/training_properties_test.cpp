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

std::string scenario_text(const std::string& policy) {
  std::string source = text;
  source.replace(source.find("POLICY"), 6, policy);
  source.replace(source.find("EXPECT"), 6, policy == "OnFailure" ? succeeds : "");
  return source;
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

TEST(TrainingProperties, ItComesToItsEndOnceNothingGoesWrong) {
  holds(
      [] {
        const auto drawn = gen::resize(rc::kNominalSize, gen::exec(any_training));
        const Training training = *drawn.as("training");
        const KindRegistry kinds;
        const auto parsed = scenario::parse_scenario(
            "training.yaml", kinds, [&](const std::string&) -> Result<std::string> {
              return scenario_text(training.policy);
            });
        if (!parsed) RC_FAIL(parsed.error().text());
        scenario::VirtualOptions options;
        options.seed = training.seed;
        options.torch = training.torch;
        options.faults = &training.faults;
        const auto result = run_virtually(*parsed, options);
        if (!result) RC_FAIL(result.error().text());
        for (const auto* judged : {&result->expectations, &result->invariants})
          for (const auto& one : *judged)
            RC_LOG() << one.name << ": " << scenario::to_string(one.verdict) << " " << one.detail
                     << "\n";
        RC_ASSERT(result->passed());
      },
      run_cost);
}

}  // namespace
}  // namespace ddptwin::property
