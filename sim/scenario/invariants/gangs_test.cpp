// Pods of a gang: the stories that break what a gang scheduler promises, and that keep it.
#include "objects/pod_groups.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::gangs_test {
namespace {

void group(Tape& tape, int least) {
  auto made = std::make_shared<CoschedulingGroup>();
  made->metadata.name = "j";
  made->metadata.namespace_ = "default";
  made->metadata.uid = "uid-g";
  CoschedulingGroupSpec spec;
  spec.minMember = least;
  made->spec = std::move(spec);
  tape.store(made, operator_actor);
}

void pod_of_gang(Tape& tape, const std::string& name) {
  tape.pod(name, [](Pod& pod) {
    pod.metadata.labels.edit().insert_or_assign("scheduling.x-k8s.io/pod-group", "j");
    pod.spec.edit().rest.edit().schedulerName = "scheduler-plugins-scheduler";
  });
}
void bind(Tape& tape, const std::string& name) {
  tape.edit_pod(
      name, [](Pod& pod) { pod.spec.edit().nodeName = "node-1"; }, "scheduler-plugins-scheduler");
}

void three_of_a_gang(Tape& tape) {
  tape.job(1, 2);
  group(tape, 3);
  for (const char* name : {"master-0", "worker-0", "worker-1"}) pod_of_gang(tape, name);
}

void two_of_three_start(Tape& tape) {
  three_of_a_gang(tape);
  bind(tape, "master-0");
  bind(tape, "worker-0");
  tape.run("master-0");
}

// One that is lost later leaves the others running, and joins them when it is made again.
void one_is_made_again(Tape& tape) {
  three_of_a_gang(tape);
  for (const char* name : {"master-0", "worker-0", "worker-1"}) bind(tape, name);
  for (const char* name : {"master-0", "worker-0", "worker-1"}) tape.run(name);
  tape.terminate("worker-1", "user");
  tape.remove("worker-1", "kubelet");
  pod_of_gang(tape, "worker-1");
  bind(tape, "worker-1");
  tape.run("worker-1");
}

}  // namespace

std::vector<Case> cases() { return {{"gang-together", &two_of_three_start, &one_is_made_again}}; }

}  // namespace ddptwin::scenario::invariants::gangs_test
