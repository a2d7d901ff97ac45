// Any workload of each system, whose pods end as they like, in a world where anything goes wrong
// that `ddptwin explore` knows: every invariant that upstream keeps holds, and what comes to an end
// undisturbed comes to one once all is healed.
#include <fmt/format.h>

#include <array>
#include <ostream>

#include "property.hpp"
#include "scenario/explore/explorer.hpp"
#include "scenario/language/fault_parser.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario_text.hpp"

namespace ddptwin::property::systems_properties_test {
namespace {

constexpr int world_cost = 12;
constexpr int runs = 3;  // each with other faults
constexpr int size_max = 3;

constexpr const char* scenario_text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: any}
spec: {modes: [virtual], images: [{name: train}], SEED}
---
)";

// What each container does: it ends with its rank's code at its first start, or at each.
constexpr const char* program = R"(
            ends() {
              if [ $1 = 1 ] && [ -e /s/$RANK ]; then sleep 4; exit 0; fi
              : > /s/$RANK; sleep $RANK; exit $2
            }
            case $RANK in
            ENDS
            esac
            sleep 4)";

// By system. PROGRAM is the text above, HOW_MANY pods, LIMIT how often it is tried again.
constexpr const char* job = R"(
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  completionMode: Indexed
  completions: HOW_MANY
  parallelism: HOW_MANY
  backoffLimit: LIMIT
  template:
    spec:
      restartPolicy: POLICY
      terminationGracePeriodSeconds: 1
      containers:
      - name: c
        image: train
        command:
        - sh
        - -c
        - |
            RANK=$JOB_COMPLETION_INDEX
            PROGRAM
        volumeMounts: [{name: s, mountPath: /s}]
      volumes: [{name: s, hostPath: {path: /var/lib/s, type: DirectoryOrCreate}}]
)";

constexpr const char* jobset = R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: j}
spec:
  failurePolicy: {maxRestarts: LIMIT}
  replicatedJobs:
  - name: first
    template: &template
      spec:
        completionMode: Indexed
        completions: HOW_MANY
        parallelism: HOW_MANY
        backoffLimit: 0
        template:
          spec:
            restartPolicy: POLICY
            terminationGracePeriodSeconds: 1
            containers:
            - name: c
              image: train
              command:
              - sh
              - -c
              - |
                RANK=$JOB_COMPLETION_INDEX
                PROGRAM
              volumeMounts: [{name: s, mountPath: /s}]
            volumes: [{name: s, hostPath: {path: /var/lib/s, type: DirectoryOrCreate}}]
  - name: second
    template: *template
)";

constexpr const char* trainjob = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: any}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      failurePolicy: {maxRestarts: LIMIT}
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            backoffLimit: 0
            template:
              spec:
                restartPolicy: POLICY
                terminationGracePeriodSeconds: 1
                containers:
                - name: node
                  image: train
                  volumeMounts: [{name: s, mountPath: /s}]
                volumes: [{name: s, hostPath: {path: /var/lib/s, type: DirectoryOrCreate}}]
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: j}
spec:
  runtimeRef: {kind: TrainingRuntime, name: any}
  trainer:
    numNodes: HOW_MANY
    command:
    - sh
    - -c
    - |
            RANK=$JOB_COMPLETION_INDEX
            PROGRAM
)";

constexpr const char* ddptask = R"(
apiVersion: aistudio.twin/v1
kind: DDPTask
metadata: {name: j}
spec:
  workers: HOW_MANY
  image: ddptwin-worker
  faultTolerance: {enabled: TOLERANT, maxRetries: LIMIT}
  mounts: [{name: s, path: /s}]
  entrypoint: |
            PROGRAM
)";

constexpr const char* training_job = R"(
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: j}
spec:
  runPolicy: {backoffLimit: LIMIT}
  replicaSpecs:
  - type: worker
    replicas: HOW_MANY
    restartPolicy: POLICY
    template:
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: c
          image: train
          command:
          - sh
          - -c
          - |
            PROGRAM
          volumeMounts: [{name: s, mountPath: /s}]
        volumes: [{name: s, hostPath: {path: /var/lib/s, type: DirectoryOrCreate}}]
)";

// Its pods are started again for ever: its end is that of a training.
constexpr const char* ddpset = R"(
apiVersion: platform.ddptwin.dev/v1alpha1
kind: DDPSet
metadata: {name: j}
spec:
  replicas: HOW_MANY
  podManagementPolicy: MANAGEMENT
  template:
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: c
        image: ddptwin-worker
        command:
        - sh
        - -c
        - |
          export RANK="${POD_NAME##*-}" WORLD_SIZE=$POD_NUMS MASTER_PORT=$POD_PORT
          export MASTER_ADDR="${POD_NAME%-*}-0.$SVC_NAME.$POD_NAMESPACE.svc.cluster.local"
          exec ddptwin-worker --steps 6 --step-time 1s
)";

constexpr std::array policies{"Never", "OnFailure"};
constexpr std::array managements{"Parallel", "OrderedReady"};
constexpr std::array<int, 6> codes{0, 1, 3, 137, 139, 143};

struct Draft {
  int size = 1, limit = 0, policy = 0;
  std::vector<int> ends{};  // by rank: an index of codes; beyond them: it runs on, and ends well
  bool once = false;        // what of that rank starts again ends well
  std::uint64_t seed = 1;   // of the faults
};

void showValue(const Draft& draft, std::ostream& out) {
  out << draft.size << " pods, " << policies[static_cast<std::size_t>(draft.policy)] << ", limit "
      << draft.limit << (draft.once ? ", once" : "") << ", faults of " << draft.seed << ", ends";
  for (const int end : draft.ends) out << " " << end;
}

rc::Gen<Draft> draft() {
  return gen::build<Draft>(
      gen::set(&Draft::size, gen::inRange(1, size_max + 1)),
      gen::set(&Draft::limit, gen::inRange(0, 4)), gen::set(&Draft::policy, gen::inRange(0, 2)),
      gen::set(&Draft::ends, gen::container<std::vector<int>>(size_max, gen::inRange(0, 11))),
      gen::set(&Draft::once),
      gen::set(&Draft::seed,
               gen::resize(rc::kNominalSize, gen::inRange<std::uint64_t>(1, 1'000'000))));
}

// Every such word, where there is one.
void fill_in(std::string& source, std::string_view word, const std::string& value) {
  if (source.find(word) != source.npos) source = filled_in(std::move(source), word, value);
}

// The program's lines as deep as the place where it is asked for.
std::string indented(std::string_view text, std::size_t depth) {
  constexpr std::size_t written = 12;
  std::string lines;
  for (std::size_t at = 1; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (!lines.empty()) lines += "\n" + std::string(depth, ' ');
    lines += text.substr(at + written, end - at - written);
    at = end + 1;
  }
  return lines;
}

std::string source_of(const char* workload, const Draft& draft) {
  std::string source = std::string(scenario_text) + (workload + 1);
  if (const std::size_t at = source.find("PROGRAM"); at != source.npos)
    source.replace(at, 7, indented(program, at - source.rfind('\n', at) - 1));
  std::string ends;
  for (int rank = 0; rank < draft.size; ++rank) {
    const auto end = static_cast<std::size_t>(draft.ends[static_cast<std::size_t>(rank)]);
    if (end < codes.size())
      ends += fmt::format("{}) ends {} {} ;; ", rank, draft.once ? 1 : 0, codes[end]);
  }
  const auto policy = static_cast<std::size_t>(draft.policy);
  fill_in(source, "SEED", fmt::format("seed: {}", draft.seed));
  fill_in(source, "ENDS", ends.empty() ? "none) ;;" : ends);
  fill_in(source, "HOW_MANY", std::to_string(draft.size));
  fill_in(source, "LIMIT", std::to_string(draft.limit));
  fill_in(source, "POLICY", policies[policy]);
  fill_in(source, "MANAGEMENT", managements[policy]);
  fill_in(source, "TOLERANT", draft.once ? "true" : "false");
  return source;
}

void withstands_faults(const char* workload) {
  holds(
      [workload] {
        const Draft drawn = *draft().as("workload");
        const std::string source = source_of(workload, drawn);
        RC_LOG() << source;
        const auto subject = scenario::Subject::open(
            "any.yaml", [&source](const std::string&) { return Result<std::string>(source); });
        if (!subject) RC_FAIL(subject.error().text());
        scenario::ExploreOptions options;
        options.kinds = *scenario::parse_fault_kinds("all");
        options.runs = runs;
        options.seed = drawn.seed;
        options.shrink_max = 60;
        const auto explored = scenario::explore(*subject, options, nullptr);
        if (!explored) RC_FAIL(explored.error().text());
        RC_ASSERT(explored->runs == std::uint64_t{runs});
        if (explored->findings.empty()) return;
        const scenario::Finding& first = explored->findings.front();
        for (const scenario::Fault& fault : first.plan.faults)
          RC_LOG() << "- fault: " << to_yaml(fault) << "\n";
        RC_FAIL(fmt::format("{} in the world of seed {}: {}", first.failure.what, first.world_seed,
                            first.failure.text));
      },
      world_cost);
}

TEST(SystemProperties, AJobWithstandsFaults) { withstands_faults(job); }
TEST(SystemProperties, AJobSetWithstandsFaults) { withstands_faults(jobset); }
TEST(SystemProperties, ATrainJobWithstandsFaults) { withstands_faults(trainjob); }
TEST(SystemProperties, ADDPTaskWithstandsFaults) { withstands_faults(ddptask); }
TEST(SystemProperties, APyTorchTrainingJobWithstandsFaults) { withstands_faults(training_job); }
TEST(SystemProperties, ADDPSetWithstandsFaults) { withstands_faults(ddpset); }

// What is drawn is a workload: with nothing going wrong each of them comes to its end, and the
// faults act in most of the runs.
TEST(SystemProperties, WhatIsDrawnTrainsAndIsHit) {
  for (const char* workload : {job, jobset, trainjob, ddptask, training_job, ddpset}) {
    Draft plain;
    plain.size = 2;
    plain.ends = {99, 99, 99};
    const std::string source = source_of(workload, plain);
    const auto subject = scenario::Subject::open(
        "any.yaml", [&source](const std::string&) { return Result<std::string>(source); });
    ASSERT_TRUE(subject) << subject.error().text() << "\n" << source;
    scenario::ExploreOptions options;
    options.kinds = *scenario::parse_fault_kinds("all");
    options.runs = 4;
    const auto explored = scenario::explore(*subject, options, nullptr);
    ASSERT_TRUE(explored) << explored.error().text();
    EXPECT_FALSE(explored->demand.due.empty()) << source;
    EXPECT_GT(explored->disturbed, 0u) << source;
  }
}

}  // namespace
}  // namespace ddptwin::property::systems_properties_test
