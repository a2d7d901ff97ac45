#include "core/virtual_start.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

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

void pass(Tape& tape, Duration time) {
  tape.wait(time);
  tape.write(RecordKind::note, "user", "", "");
}

void much_later(Tape& tape) { pass(tape, 2 * progress_within); }

// Both have joined and done so many steps.
void train(Tape& tape, int steps) {
  begin(tape);
  for (const int rank : {0, 1}) {
    const std::string pod = rank == 0 ? "master-0" : "worker-0";
    tape.run(pod);
    tape.write(RecordKind::container, "kubelet", "default/j-" + pod + "/pytorch", "started");
    tape.say(pod, "joined rank " + std::to_string(rank) + " world_size 2");
  }
  for (int step = 1; step <= steps; ++step)
    for (const int rank : {0, 1})
      tape.say(rank == 0 ? "master-0" : "worker-0",
               "step " + std::to_string(step) + "/99 rank " + std::to_string(rank));
}

// The Master's container ends, begins anew as its nth restart, and does so many steps in that time.
void crash_and_do(Tape& tape, int restart, int steps, Duration time) {
  const std::string container = "default/j-master-0/pytorch";
  tape.write(RecordKind::container, "kubelet", container, "exited");
  tape.edit_pod("master-0", [restart](Pod& pod) {
    ContainerStatus status;
    status.name = "pytorch";
    status.restartCount = restart;
    status.state.running.emplace();
    status.lastState.edit().terminated.emplace().exitCode = 1;
    pod.status.containerStatuses = {status};
  });
  tape.write(RecordKind::container, "kubelet", container, "started");
  for (int step = 1; step <= steps; ++step) {
    pass(tape, time / steps);
    tape.say("master-0", "step " + std::to_string(step) + "/99 rank 0");
  }
}

void unschedulable(Pod& pod) {
  PodCondition condition;
  condition.type_ = "PodScheduled";
  condition.status = "False";
  condition.reason = "Unschedulable";
  condition.message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
  pod.status.conditions = {condition};
}

void waits(Pod& pod, const std::string& reason) {
  pod.spec.edit().nodeName = "node-0";
  ContainerStatus status;
  status.name = "pytorch";
  status.state.waiting.emplace().reason = reason;
  pod.status.containerStatuses = {status};
}

// The main one and a sidecar, by their exit codes; without one it runs.
void containers(Pod& pod, std::optional<int> main, std::optional<int> sidecar) {
  std::vector<ContainerStatus> statuses(2);
  statuses[0].name = "pytorch";
  statuses[1].name = "proxy";
  for (const auto& [at, code] : {std::pair(0, main), std::pair(1, sidecar)}) {
    ContainerState& state = statuses[static_cast<std::size_t>(at)].state;
    if (code)
      state.terminated.emplace().exitCode = *code;
    else
      state.running.emplace();
  }
  pod.status.containerStatuses = statuses;
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
      // All run and nobody says a word: a step may take that long, and no longer.
      {"progress",
       [](Tape& tape) {
         train(tape, 1);
         pass(tape, silence_within + 1s);
       },
       [](Tape& tape) {
         train(tape, 1);
         pass(tape, silence_within - 1s);
       }},
      // A pod that no node takes; one that another job keeps from a node.
      {"progress",
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.edit_pod("worker-0", &unschedulable);
         much_later(tape);
       },
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.edit_pod("worker-0", &unschedulable);
         tape.wait(progress_within / 2);
         tape.other_job_moves();
         much_later(tape);
       }},
      // Somebody was stopped, long after the job's first instant; somebody was let go on.
      {"progress",
       [](Tape& tape) {
         train(tape, 5);
         tape.signal("worker-0", 19);
         much_later(tape);
       },
       [](Tape& tape) {
         train(tape, 5);
         tape.signal("worker-0", 19);
         tape.signal("worker-0", 18);
         much_later(tape);
       }},
      // Each start does the same steps; each does one more.
      {"progress",
       [](Tape& tape) {
         train(tape, 3);
         for (int i = 1; i < 40; ++i) crash_and_do(tape, i, 3, 10min);
       },
       [](Tape& tape) {
         train(tape, 3);
         for (int i = 1; i < 40; ++i) crash_and_do(tape, i, 3 + i, 10min);
       }},
      // The way back is long, once.
      {"progress",
       [](Tape& tape) {
         train(tape, 9);
         for (int i = 1; i < 20; ++i) crash_and_do(tape, i, 8, progress_within / 2);
       },
       [](Tape& tape) {
         train(tape, 9);
         crash_and_do(tape, 1, 8, progress_within - 1s);
         pass(tape, progress_within - 1s);
       }},
      // The main container is over, and another one keeps the pod; all of them go on.
      {"progress",
       [](Tape& tape) {
         begin(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.run(pod);
         tape.edit_pod("master-0", [](Pod& pod) { containers(pod, 0, {}); });
         much_later(tape);
       },
       [](Tape& tape) {
         begin(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.run(pod);
         tape.edit_pod("master-0", [](Pod& pod) { containers(pod, {}, {}); });
         much_later(tape);
       }},
      // An image that is refused, and one that takes its time.
      {"progress",
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.edit_pod("worker-0", [](Pod& pod) { waits(pod, "ImagePullBackOff"); });
         much_later(tape);
       },
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.edit_pod("worker-0", [](Pod& pod) { waits(pod, "ContainerCreating"); });
         tape.event("worker-0", "Normal", "Pulling", "Pulling image \"big\"");
         much_later(tape);
       }},
      // Volumes that never come, though a kubelet has taken the pod up.
      {"progress",
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.edit_pod("worker-0", [](Pod& pod) { waits(pod, "ContainerCreating"); });
         tape.event("worker-0", "Warning", "FailedMount", "secret \"s\" not found");
         much_later(tape);
       },
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         tape.edit_pod("worker-0", [](Pod& pod) { waits(pod, "ContainerCreating"); });
         tape.event("worker-0", "Warning", "FailedMount", "secret \"s\" not found");
         pass(tape, progress_within / 2);
         tape.run("worker-0");
         pass(tape, progress_within - 1s);
       }},
      // Who tells of no steps: the same words again and again, and new ones now and then.
      {"progress",
       [](Tape& tape) {
         begin(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.run(pod);
         for (int i = 0; i < 10; ++i) {
           tape.say("master-0", "still waiting");
           pass(tape, silence_within / 5);
         }
       },
       [](Tape& tape) {
         begin(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.run(pod);
         for (int i = 0; i < 10; ++i) {
           tape.say("master-0", "epoch " + std::to_string(i));
           pass(tape, silence_within / 5);
         }
       }},
      // No pod was ever made; the job is suspended.
      {"progress",
       [](Tape& tape) {
         tape.job(1, 1);
         much_later(tape);
       },
       [](Tape& tape) {
         tape.job(1, 1);
         suspend(tape, true);
         much_later(tape);
         suspend(tape, false);
         pass(tape, progress_within - 1s);
       }},
      // Somebody touches it all the time, and it comes no further for all that.
      {"progress",
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         for (int i = 0; i < 20; ++i) {
           tape.change("user", [i](PyTorchJob& job) {
             job.metadata.labels.edit()["touched"] = std::to_string(i);
           });
           pass(tape, progress_within / 2);
         }
       },
       [](Tape& tape) {
         begin(tape);
         tape.run("master-0");
         pass(tape, progress_within / 2);
         tape.change("user",
                     [](PyTorchJob& job) { job.metadata.labels.edit()["touched"] = "now"; });
         pass(tape, progress_within - 1s);
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
         tape.write(RecordKind::note, "pytorchjob-controller", "", "panic: index out of range");
       },
       [](Tape& tape) {
         begin(tape);
         tape.write(RecordKind::note, "pytorchjob-controller", "", "all is well");
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
