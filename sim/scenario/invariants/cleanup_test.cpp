#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::cleanup_test {
namespace {

void suspend(PyTorchJob& job) { job.spec.edit().runPolicy.suspend = true; }

void suspend_with_ttl(PyTorchJob& job) {
  suspend(job);
  job.spec.edit().runPolicy.ttlSecondsAfterFinished = 60;
}

// A job that has finished, with a Master that ended and a worker that runs.
void finished(Tape& tape, const std::string& policy) {
  tape.job(1, 1, [&](PyTorchJob& job) {
    if (!policy.empty()) job.spec.edit().runPolicy.cleanPodPolicy = policy;
  });
  for (const std::string pod : {"master-0", "worker-0"}) {
    tape.pod(pod);
    tape.run(pod);
  }
  tape.exit("master-0", 0);
  tape.finish("Succeeded");
}

void without_workers(Tape& tape) {
  tape.change("user", [](PyTorchJob& job) {
    job.spec.edit().pytorchReplicaSpecs->erase("Worker");
    ++job.metadata.generation;
  });
}

void served(Tape& tape) {
  tape.job(1, 0);
  tape.pod("master-0");
  tape.service("master-0");
  tape.run("master-0", "10.0.0.1");
  tape.slice("master-0", "master-0", "10.0.0.1");
}

// Its pod ends, and its slice stays as it was.
void served_under_a_fault(Tape& tape) {
  served(tape);
  tape.write(RecordKind::fault, "faults", "api", "{api: error}", {{"port", "api"}});
  tape.exit("master-0", 1);
  tape.wait(31s);
  tape.write(RecordKind::fault, "faults", "all", "healed");
}

constexpr const char* master_name = "j-master-0.default.svc.cluster.local. A";

}  // namespace

std::vector<Case> cases() {
  return {
      {"clean-up",
       [](Tape& tape) {
         finished(tape, "Running");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         finished(tape, "Running");
         tape.remove("worker-0", operator_actor);
         tape.come_to_rest();
       }},
      {"clean-up",
       [](Tape& tape) {
         finished(tape, "All");
         tape.remove("worker-0", operator_actor);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         finished(tape, "");
         tape.come_to_rest();
       }},
      // Of a replica type that is no longer in the spec, too.
      {"clean-up",
       [](Tape& tape) {
         finished(tape, "All");
         tape.remove("master-0", operator_actor);
         without_workers(tape);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         finished(tape, "All");
         without_workers(tape);
         for (const std::string pod : {"master-0", "worker-0"}) tape.remove(pod, operator_actor);
         tape.come_to_rest();
       }},
      {"pods-kept",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.pod("master-0");
         tape.run("master-0");
         tape.terminate("master-0", operator_actor);
         tape.finish("Failed");
       },
       [](Tape& tape) {
         tape.job(1, 0);
         tape.pod("master-0");
         tape.run("master-0");
         tape.terminate("master-0", "user");
         tape.finish("Failed");
       }},
      {"finished-pods-stop",
       [](Tape& tape) {
         finished(tape, "");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         finished(tape, "");
         tape.exit("worker-0", 0);
         tape.come_to_rest();
       }},
      {"suspended",
       [](Tape& tape) {
         tape.job(1, 0, &suspend);
         tape.condition("Suspended");
         tape.pod("master-0");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 0, &suspend);
         tape.condition("Suspended");
         tape.pod("master-0");
         tape.terminate("master-0", operator_actor);
         tape.come_to_rest();
       }},
      {"suspend-is-reached",
       [](Tape& tape) {
         tape.job(1, 0, &suspend);
         tape.condition("Running");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 0, &suspend);
         tape.condition("Suspended");
         tape.come_to_rest();
       }},
      {"suspend-with-ttl",
       [](Tape& tape) {
         tape.job(1, 0, &suspend_with_ttl);
         tape.condition("Running");
         tape.rule("clean_up");
         // That what it looks for is gone already keeps it from nothing.
         for (int i = 0; i < 20; ++i)
           tape.write(RecordKind::api_refused, operator_actor, "get services default/j-master-0",
                      "services \"j-master-0\" not found");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 0, &suspend_with_ttl);
         tape.condition("Suspended");
         tape.come_to_rest();
       }},
      {"services-have-pods",
       [](Tape& tape) {
         served(tape);
         tape.remove("master-0", "user");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         served(tape);
         tape.come_to_rest();
       }},
      {"endpoints",
       [](Tape& tape) {
         served(tape);
         tape.slice("master-0", "worker-0", "10.0.0.2");
       },
       [](Tape& tape) {
         served(tape);
         tape.slice("master-0", "master-0", "10.0.0.2");
       }},
      {"endpoints-are-true",
       [](Tape& tape) {
         served(tape);
         tape.exit("master-0", 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         served(tape);
         tape.exit("master-0", 0);
         tape.slice("master-0", "master-0", "");
         tape.come_to_rest();
       }},
      // Two slices, of which one goes.
      {"endpoints-are-true",
       [](Tape& tape) {
         served(tape);
         tape.slice("master-0", "master-0", "10.0.0.9", "other");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         served(tape);
         tape.slice("master-0", "master-0", "", "other");
         tape.remove_slice("master-0", "other");
         tape.come_to_rest();
       }},
      {"names",
       [](Tape& tape) {
         served(tape);
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.9");
       },
       [](Tape& tape) {
         served(tape);
         for (const char* answer : {"10.0.0.1", "NXDOMAIN", "NODATA"})
           tape.write(RecordKind::dns, "dns", master_name, answer);
         tape.write(RecordKind::dns, "dns", "example.org. A", "93.184.216.34");
       }},
      {"names",
       [](Tape& tape) {
         served(tape);
         tape.exit("master-0", 1);
         tape.wait(31s);
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.1");
       },
       [](Tape& tape) {
         served(tape);
         tape.exit("master-0", 1);
         tape.wait(29s);
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.1");
         // Its words are no matter.
         tape.write(RecordKind::fault, "faults", "dns", "{dns: wrong, of: 'process: '}",
                    {{"port", "dns"}});
         tape.write(RecordKind::dns, "dns", master_name, "10.9.9.9");
       }},
      // Pods on the host's network share their node's address; one that has gone for long does not.
      {"names",
       [](Tape& tape) {
         served(tape);
         tape.pod("worker-0");
         tape.run("worker-0", "10.0.0.1");
         tape.exit("master-0", 1);
         tape.wait(31s);
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.1");
       },
       [](Tape& tape) {
         served(tape);
         tape.pod("worker-0");
         tape.run("worker-0", "10.0.0.1");
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.1");
         tape.exit("worker-0", 1);
         tape.wait(31s);
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.1");
       }},
      // What an EndpointSlice's controller could not write it may try again late.
      {"names",
       [](Tape& tape) {
         served_under_a_fault(tape);
         tape.wait(rest_time_after_faults + 1s);
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.1");
       },
       [](Tape& tape) {
         served_under_a_fault(tape);
         tape.wait(rest_time_after_faults - 1s);
         tape.write(RecordKind::dns, "dns", master_name, "10.0.0.1");
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::cleanup_test
