// Any PyTorchTrainingJob whose replicas end as they like, while its controller crashes and somebody
// deletes pods: it keeps what spec/t9k.md §18 promises (the invariants t9k-... are watched), and
// comes to its end.
#include <ostream>

#include "property.hpp"
#include "scenario_text.hpp"

namespace ddptwin::property::t9k_properties_test {
namespace {

constexpr const char* text = R"(
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: t9k}
spec:
  modes: [virtual]
  images: [{name: train}]
  FAULTS
  STEPS
  expect:
  - eventually: {of: pytorchtrainingjob/j, finished: true}
  timeout: 1h
---
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: j}
spec:
  runPolicy: {backoffLimit: LIMIT, cleanUpPolicy: CLEANUP}
  replicaSpecs:
  - type: first
    replicas: SIZE
    restartPolicy: POLICY
    template: &template
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: c
          image: train
          command:
          - sh
          - -c
          - |
            ends() {
              if [ $1 = 1 ] && [ -e /s/$RANK ]; then sleep 60; exit 0; fi
              : > /s/$RANK; sleep $RANK; exit $2
            }
            case $RANK in
            ENDS
            esac
            sleep 60
          volumeMounts: [{name: s, mountPath: /s}]
        volumes: [{name: s, hostPath: {path: /var/lib/s, type: DirectoryOrCreate}}]
  - type: second
    replicas: 2
    restartPolicy: OTHER
    template: *template
)";

constexpr std::array<const char*, 4> policies{"Never", "OnFailure", "Always", "ExitCode"};
constexpr std::array<const char*, 3> clean_ups{"None", "All", "Unfinished"};
constexpr std::array<int, 9> codes{0, 1, 2, 130, 137, 138, 139, 143, 255};

struct Draft {
  int size = 1, limit = 3, policy = 0, other = 0, clean_up = 0;
  std::vector<int> ends{};  // by rank: an index of codes; beyond them: it runs on
  bool once = false;        // the next of that rank ends well
  int crash = 0;            // after so many writes of the controller; 0: never
  int deleted = 0;          // after so many seconds somebody deletes a pod; 0: nobody does
};

void showValue(const Draft& draft, std::ostream& out) {
  out << draft.size << "+2 replicas, " << policies[static_cast<std::size_t>(draft.policy)]
      << " and " << policies[static_cast<std::size_t>(draft.other)] << ", limit " << draft.limit
      << ", " << clean_ups[static_cast<std::size_t>(draft.clean_up)] << (draft.once ? ", once" : "")
      << ", crash after " << draft.crash << ", deleted at " << draft.deleted << "s, ends";
  for (const int end : draft.ends) out << " " << end;
}

rc::Gen<Draft> draft() {
  return gen::build<Draft>(
      gen::set(&Draft::size, gen::inRange(1, 4)), gen::set(&Draft::limit, gen::inRange(0, 5)),
      gen::set(&Draft::policy, gen::inRange(0, 4)), gen::set(&Draft::other, gen::inRange(0, 4)),
      gen::set(&Draft::clean_up, gen::inRange(0, 3)),
      gen::set(&Draft::ends, gen::container<std::vector<int>>(5, gen::inRange(0, 13))),
      gen::set(&Draft::once, gen::inRange(0, 2)), gen::set(&Draft::crash, gen::inRange(0, 25)),
      gen::set(&Draft::deleted, gen::inRange(0, 12)));
}

std::string source_of(const Draft& draft) {
  std::string ends;
  for (std::size_t rank = 0; rank < draft.ends.size(); ++rank)
    if (const auto end = static_cast<std::size_t>(draft.ends[rank]); end < codes.size())
      ends += fmt::format("{}) ends {} {} ;;\n            ", rank, draft.once ? 1 : 0, codes[end]);
  std::string source = text;
  source = filled_in(source, "SIZE", std::to_string(draft.size));
  source = filled_in(source, "LIMIT", std::to_string(draft.limit));
  source = filled_in(source, "CLEANUP", clean_ups[static_cast<std::size_t>(draft.clean_up)]);
  source = filled_in(source, "POLICY", policies[static_cast<std::size_t>(draft.policy)]);
  source = filled_in(source, "OTHER", policies[static_cast<std::size_t>(draft.other)]);
  source = filled_in(source, "ENDS", ends.empty() ? "none) ;;" : ends);
  source =
      filled_in(source, "FAULTS",
                draft.crash == 0 ? ""
                                 : fmt::format("faults: [{{controller: crash, of: "
                                               "pytorchtrainingjob-controller, at: 0s, nth: {}}}]",
                                               draft.crash));
  // A pod that has ended may be gone by then.
  return filled_in(source, "STEPS",
                   draft.deleted == 0
                       ? ""
                       : fmt::format("steps: [{{at: {}s, delete: {{of: {{kind: pods, labels: "
                                     "'replica-index=1'}}}}}}]",
                                     draft.deleted));
}

TEST(PyTorchTrainingJobProperties, whatever_its_replicas_do_it_keeps_its_promises) {
  holds(
      []() {
        const Draft drawn = *draft();
        const auto result = result_of(source_of(drawn), {.seed = 7});
        for (const auto& one : result.expectations)
          if (one.verdict == scenario::Verdict::failed) RC_FAIL(one.name + ": " + one.detail);
      },
      scenario_cost);
}

}  // namespace
}  // namespace ddptwin::property::t9k_properties_test
