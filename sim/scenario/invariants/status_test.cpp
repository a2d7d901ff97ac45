#include "core/virtual_start.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::status_test {
namespace {

const Time start = virtual_start;

void running_job(Tape& tape) {
  tape.job(1, 1);
  tape.condition("Created");
  for (const std::string pod : {"master-0", "worker-0"}) {
    tape.pod(pod);
    tape.run(pod);
  }
  tape.condition("Running");
  tape.counts("Master", 1, 0, 0);
  tape.counts("Worker", 1, 0, 0);
}

void restarts(Pod& pod, int count) {
  ContainerStatus status;
  status.name = "pytorch";
  status.restartCount = count;
  pod.status.containerStatuses = {status};
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"one-condition",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.condition("Created");
         tape.status([](JobStatus& status) {
           status.conditions.edit().push_back(status.conditions.front());
         });
       },
       [](Tape& tape) { running_job(tape); }},
      {"one-state",
       [](Tape& tape) {
         running_job(tape);
         tape.condition("Restarting");
       },
       [](Tape& tape) {
         running_job(tape);
         tape.condition("Restarting", "False");
       }},
      {"monotone",
       [](Tape& tape) {
         running_job(tape);
         tape.edit_pod("worker-0", [](Pod& pod) { restarts(pod, 2); });
         tape.edit_pod("worker-0", [](Pod& pod) { restarts(pod, 1); });
       },
       [](Tape& tape) {
         running_job(tape);
         for (const int count : {1, 1, 2})
           tape.edit_pod("worker-0", [count](Pod& pod) { restarts(pod, count); });
       }},
      {"monotone",
       [](Tape& tape) {
         running_job(tape);
         tape.change("user", [](PyTorchJob& job) { job.metadata.generation = 0; });
       },
       [](Tape& tape) {
         running_job(tape);
         tape.change("user", [](PyTorchJob& job) { ++job.metadata.generation; });
       }},
      {"times",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.status([](JobStatus& status) { status.startTime = start + Duration(1s); });
         tape.finish("Succeeded");
       },
       [](Tape& tape) {
         tape.job(1, 0);
         tape.status([](JobStatus& status) { status.startTime = start; });
         tape.finish("Succeeded");
       }},
      {"completion-time",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.status([](JobStatus& status) { status.completionTime = start; });
       },
       [](Tape& tape) {
         tape.job(1, 0);
         tape.finish("Succeeded");
       }},
      {"start-time",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.status([](JobStatus& status) { status.startTime = start; });
         tape.status([](JobStatus& status) { status.startTime = start + Duration(5s); });
       },
       [](Tape& tape) {
         tape.job(1, 0);
         tape.status([](JobStatus& status) { status.startTime = start; });
         tape.condition("Suspended");
         tape.status([](JobStatus& status) { status.startTime = start + Duration(5s); });
       }},
      {"spec-untouched",
       [](Tape& tape) {
         running_job(tape);
         tape.change(operator_actor, [](PyTorchJob& job) { ++job.metadata.generation; });
       },
       [](Tape& tape) {
         running_job(tape);
         tape.change("user", [](PyTorchJob& job) { ++job.metadata.generation; });
       }},
      {"spec-untouched",
       [](Tape& tape) {
         running_job(tape);
         tape.change(operator_actor,
                     [](PyTorchJob& job) { job.metadata.annotations.edit()["a"] = "b"; });
       },
       [](Tape& tape) {
         running_job(tape);
         tape.condition("Running", "False");
       }},
      {"counters-are-true",
       [](Tape& tape) {
         running_job(tape);
         tape.exit("worker-0", 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.exit("worker-0", 0);
         tape.counts("Worker", 0, 1, 0);
         tape.come_to_rest();
       }},
      {"counters-are-true",
       [](Tape& tape) {
         running_job(tape);
         tape.terminate("worker-0", "user");  // a Running pod that leaves counts as failed
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.terminate("worker-0", "user");
         tape.counts("Worker", 0, 0, 1);
         tape.come_to_rest();
       }},
      {"counters-are-true",
       [](Tape& tape) {  // invalid for a while
         running_job(tape);
         tape.exit("worker-0", 0);
         tape.rule("invalid_job");
         tape.change("user", [](PyTorchJob& job) { ++job.metadata.generation; });  // mended
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.exit("worker-0", 0);
         tape.rule("keep_pod");
         tape.rule("invalid_job");
         tape.come_to_rest();
       }},
      {"counters-are-true",
       [](Tape& tape) {  // busy for long, and then not: the job's turn has come
         running_job(tape);
         tape.exit("worker-0", 0);
         tape.operator_busy_for(2 * rest_time);
         tape.come_to_rest();
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.exit("worker-0", 0);
         tape.operator_busy_for(2 * rest_time);
       }},
      {"conditions-are-true",
       [](Tape& tape) {
         running_job(tape);
         tape.exit("master-0", 0);
         tape.counts("Master", 0, 1, 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.come_to_rest();
       }},
      {"permanent-failure-fails",
       [](Tape& tape) {
         tape.job(1, 1, [](PyTorchJob& job) {
           job.spec.edit().pytorchReplicaSpecs->at("Worker").restartPolicy = "ExitCode";
         });
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.run("master-0");
         tape.exit("worker-0", 1);
         tape.condition("Restarting");
         tape.counts("Master", 1, 0, 0);
         tape.counts("Worker", 0, 0, 1);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.exit("worker-0", 137);  // OnFailure: whether it is Running depends on the order
         tape.counts("Worker", 0, 0, 1);
         tape.condition("Running", "False");
         tape.come_to_rest();
       }},
      {"conditions-are-true",
       [](Tape& tape) {
         tape.job(1, 1, [](PyTorchJob& job) {
           job.spec.edit().pytorchReplicaSpecs->at("Worker").restartPolicy = "Never";
         });
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.exit("worker-0", 1);
         tape.condition("Running");
         tape.counts("Worker", 0, 0, 1);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.exit("worker-0", 1);
         tape.counts("Worker", 0, 0, 1);
         tape.come_to_rest();
       }},
      {"created-first",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.condition("Running");
       },
       [](Tape& tape) { running_job(tape); }},
      {"running-is-true",
       [](Tape& tape) {
         running_job(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.phase(pod, "Pending");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         tape.phase("worker-0", "Pending");
         tape.come_to_rest();
       }},
      {"finished-counters",
       [](Tape& tape) {
         running_job(tape);
         tape.exit("master-0", 0);
         tape.finish("Succeeded");
         tape.counts("Worker", 0, 1, 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         running_job(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.exit(pod, 0);
         tape.finish("Succeeded");
         tape.counts("Worker", 0, 1, 0);
         tape.counts("Master", 0, 1, 0);
         tape.come_to_rest();
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::status_test
