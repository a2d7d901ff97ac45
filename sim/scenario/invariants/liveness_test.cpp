#include "core/virtual_start.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape.hpp"

namespace ddptwin::scenario::invariants::liveness_test {
namespace {

const Time start = virtual_start;

void deadline_job(PyTorchJob& job) { job.spec.edit().runPolicy.activeDeadlineSeconds = 60; }
void ttl_job(PyTorchJob& job) { job.spec.edit().runPolicy.ttlSecondsAfterFinished = 60; }

void begin(Tape& tape, const Tape::EditJob& edit = {}) {
  tape.job(1, 1, edit);
  tape.status([](JobStatus& status) { status.startTime = start; });
  tape.condition("Created");
  for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
}

void give(PyTorchJob& job, const Tape::EditJob& edit) {
  edit(job);
  ++job.metadata.generation;
}

void scale(Tape& tape, int workers) {
  tape.change("user", [workers](PyTorchJob& job) {
    give(job, [workers](PyTorchJob& given) {
      given.spec.edit().pytorchReplicaSpecs->at("Worker").replicas = workers;
    });
  });
}

void suspend(Tape& tape, bool suspended) {
  tape.change("user", [suspended](PyTorchJob& job) {
    give(job, [suspended](PyTorchJob& given) { given.spec.edit().runPolicy.suspend = suspended; });
  });
}

void much_later(Tape& tape) {
  tape.wait(2 * progress_within);
  tape.write(RecordKind::note, "user", "", "");
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"progress",
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.phase("worker-0", "Unknown");
         much_later(tape);
       },
       [](Tape& tape) {
         begin(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.run(pod);
         much_later(tape);
       }},
      {"progress",
       [](Tape& tape) {
         begin(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.run(pod);
         tape.say("master-0", "step 1/9 rank 0");
         much_later(tape);
       },
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.edit_pod("worker-0", [](Pod& pod) {
           PodCondition condition;
           condition.type_ = "PodScheduled";
           condition.status = "False";
           condition.reason = "Unschedulable";
           pod.status.conditions = {condition};
         });
         much_later(tape);
       }},
      {"progress",
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.write(RecordKind::fault, "faults", "operator", "{controller: crash}");
         much_later(tape);
         tape.write(RecordKind::fault, "faults", "all", "healed");
         much_later(tape);
       },
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.write(RecordKind::fault, "faults", "operator", "{controller: crash}");
         much_later(tape);
         tape.write(RecordKind::fault, "faults", "all", "healed");
         tape.wait(progress_within / 2);
         tape.write(RecordKind::note, "user", "", "");
       }},
      {"deadline",
       [](Tape& tape) {
         begin(tape, &deadline_job);
         tape.wait(91s);
         tape.write(RecordKind::note, "user", "", "");
       },
       [](Tape& tape) {
         begin(tape, &deadline_job);
         tape.wait(61s);
         tape.finish("Failed");
         tape.wait(60s);
         tape.write(RecordKind::note, "user", "", "");
       }},
      {"ttl",
       [](Tape& tape) {
         begin(tape, &ttl_job);
         tape.finish("Succeeded");
         tape.wait(91s);
         tape.write(RecordKind::note, "user", "", "");
       },
       [](Tape& tape) {
         begin(tape, &ttl_job);
         tape.finish("Succeeded");
         tape.wait(61s);
         tape.change(operator_actor,
                     [](PyTorchJob& job) { job.metadata.deletionTimestamp = start; });
         tape.wait(60s);
         tape.write(RecordKind::note, "user", "", "");
       }},
      {"deadline",  // suspended for longer than that, and resumed
       [](Tape& tape) {
         begin(tape, &deadline_job);
         suspend(tape, true);
         tape.wait(120s);
         suspend(tape, false);
         tape.wait(91s);  // without a new startTime
         tape.write(RecordKind::note, "user", "", "");
       },
       [](Tape& tape) {
         begin(tape, &deadline_job);
         suspend(tape, true);
         tape.wait(120s);
         suspend(tape, false);
         tape.wait(1s);
         tape.status([](JobStatus& status) { status.startTime = start + Duration(121s); });
         tape.wait(40s);
         tape.write(RecordKind::note, "user", "", "");
       }},
      {"ttl",  // that is given to it when it has finished long ago
       [](Tape& tape) {
         begin(tape);
         tape.finish("Succeeded");
         tape.wait(600s);
         tape.change("user", [](PyTorchJob& job) { give(job, &ttl_job); });
         tape.wait(31s);
         tape.write(RecordKind::note, "user", "", "");
       },
       [](Tape& tape) {
         begin(tape);
         tape.finish("Succeeded");
         tape.wait(600s);
         tape.change("user", [](PyTorchJob& job) { give(job, &ttl_job); });
         tape.wait(29s);
         tape.write(RecordKind::note, "user", "", "");
       }},
      {"deadline-is-seen",
       [](Tape& tape) {
         begin(tape, &deadline_job);
         tape.wait(62s);
         tape.run("master-0");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         begin(tape, &deadline_job);
         tape.wait(58s);
         tape.run("master-0");
         tape.come_to_rest();
       }},
      {"ttl-after-all",
       [](Tape& tape) {
         begin(tape, &ttl_job);
         tape.condition("Failed");  // without a completionTime
         tape.wait(91s);
         tape.write(RecordKind::note, "user", "", "");
       },
       [](Tape& tape) {
         begin(tape, &ttl_job);
         tape.finish("Failed");
         tape.wait(91s);
         tape.write(RecordKind::note, "user", "", "");
       }},
      {"quiesce-at-zero",
       [](Tape& tape) {
         tape.job(1, 1, [](PyTorchJob& job) {
           job.spec.edit().pytorchReplicaSpecs->at("Worker").replicas = 0;
         });
         for (int i = 0; i < 40; ++i) {
           tape.pod("worker-0");
           // Nobody wants that pod: what comes of it asks nothing of the operator.
           for (const std::string container : {"init-pytorch", "pytorch"})
             tape.write(RecordKind::container, "kubelet", "default/j-worker-0/" + container,
                        "exited");
           if (i % 2 == 0) tape.exit("worker-0", 1);
           tape.remove("worker-0", operator_actor);
         }
       },
       [](Tape& tape) {
         begin(tape);
         for (int i = 0; i < 100; ++i) tape.counts("Worker", i, 0, 0);
       }},
      {"quiesce",
       [](Tape& tape) {
         begin(tape);
         for (int i = 0; i < 100; ++i) tape.counts("Worker", i, 0, 0);
       },
       [](Tape& tape) {
         begin(tape);
         for (int i = 0; i < 100; ++i) {
           tape.counts("Worker", i, 0, 0);
           if (i % 10 == 0) tape.change("user", [](PyTorchJob& job) { ++job.metadata.generation; });
         }
         // Scaling down is work for as long as a pod too many is there (Q7).
         tape.pod("worker-1");
         scale(tape, 2);
         scale(tape, 1);
         for (int i = 0; i < 100; ++i) tape.counts("Worker", i, 0, 0);
         tape.remove("worker-1", "kubelet");
       }},
      {"no-refused-writes",
       [](Tape& tape) {
         begin(tape);
         tape.write(RecordKind::api_refused, operator_actor, "create services default/j-worker-0",
                    "Service \"j-worker-0\" is invalid: spec.ports[0].name: Required value");
       },
       [](Tape& tape) {
         begin(tape);
         tape.write(RecordKind::api_refused, operator_actor, "create pods default/j-worker-0",
                    "pods \"j-worker-0\" already exists");
         tape.write(RecordKind::api_refused, operator_actor, "create events default/j.1",
                    "events \"j.1\" is forbidden: unable to create new content in namespace "
                    "default because it is being terminated");
       }},
      {"no-panic",
       [](Tape& tape) {
         begin(tape);
         tape.write(RecordKind::note, controller_actor, "", "panic: index out of range");
       },
       [](Tape& tape) {
         begin(tape);
         tape.write(RecordKind::note, controller_actor, "", "all is well");
       }},
      {"no-leak",
       [](Tape& tape) {
         begin(tape);
         tape.terminate("worker-0", "user");
         tape.wait(61s);
         tape.condition("Restarting");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         begin(tape);
         tape.terminate("worker-0", "user");
         tape.wait(30s);
         tape.remove("worker-0", "kubelet");
         tape.come_to_rest();
       }},
      {"visible",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 0);
         tape.pod("master-0");
         tape.come_to_rest();
       }},
      {"visible-without-types",
       [](Tape& tape) {
         tape.job(0, 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 0);
         tape.come_to_rest();
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::liveness_test
