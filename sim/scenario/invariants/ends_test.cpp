#include "core/virtual_start.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::ends_test {
namespace {

void policy(PyTorchJob& job, const std::string& type, const std::string& name) {
  job.spec.edit().pytorchReplicaSpecs->at(type).restartPolicy = name;
}

// A worker of a job with that policy ends with a code, and the job is called Failed.
void fail_after(Tape& tape, const std::string& name, int code) {
  tape.job(1, 1, [&](PyTorchJob& job) { policy(job, "Worker", name); });
  for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
  tape.run("worker-0");
  tape.exit("worker-0", code);
  tape.finish("Failed");
}

void succeed(Tape& tape, int step) {
  tape.job(1, 0);
  tape.pod("master-0");
  tape.run("master-0");
  tape.say("master-0", "joined rank 0 world_size 1");
  for (int i = 1; i <= step; ++i) tape.say("master-0", "step " + std::to_string(i) + "/3 rank 0");
  tape.exit("master-0", 0);
  tape.finish("Succeeded");
}

void finished_and_a_pod(Tape& tape) {
  succeed(tape, 3);
  tape.remove("master-0", "user");
  tape.wait(1ms);
  tape.pod("master-0");
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"terminal",
       [](Tape& tape) {
         succeed(tape, 3);
         tape.phase("master-0", "Running");
       },
       [](Tape& tape) {
         succeed(tape, 3);
         tape.counts("Master", 0, 1, 0);
         tape.terminate("master-0", "user");
       }},
      {"terminal",
       [](Tape& tape) {
         succeed(tape, 3);
         tape.condition("Succeeded", "False");
       },
       [](Tape& tape) {
         succeed(tape, 3);
         tape.condition("Running", "False");
       }},
      {"no-new-pods",
       [](Tape& tape) {
         finished_and_a_pod(tape);
         tape.counts("Master", 0, 1, 0);  // accepted: the operator knew
       },
       [](Tape& tape) {
         finished_and_a_pod(tape);  // from a stale cache: its status is refused
         tape.write(RecordKind::api_refused, operator_actor,
                    "update pytorchjobs.kubeflow.org default/j", "the object has been modified");
         tape.counts("Master", 0, 1, 0);
         tape.come_to_rest();
       }},
      {"no-new-pods",
       [](Tape& tape) {
         finished_and_a_pod(tape);
         tape.come_to_rest();
         tape.come_to_rest();  // it is looked at again after what came late
       },
       [](Tape& tape) {
         // From a cache that has not heard of the end yet, and with no status to write.
         succeed(tape, 3);
         tape.remove("master-0", "user");
         tape.pod("master-0");
         tape.come_to_rest();
         tape.come_to_rest();
       }},
      {"frozen",
       [](Tape& tape) {
         fail_after(tape, "Never", 1);
         tape.condition("Restarting");
       },
       [](Tape& tape) {
         fail_after(tape, "Never", 1);
         tape.counts("Worker", 0, 0, 1);
       }},
      {"one-end",
       [](Tape& tape) {
         fail_after(tape, "Never", 1);
         tape.condition("Succeeded");
       },
       [](Tape& tape) { fail_after(tape, "Never", 1); }},
      {"failed-for-a-reason", [](Tape& tape) { fail_after(tape, "OnFailure", 1); },
       [](Tape& tape) { fail_after(tape, "Never", 137); }},
      {"failed-for-a-reason", [](Tape& tape) { fail_after(tape, "ExitCode", 137); },
       [](Tape& tape) { fail_after(tape, "ExitCode", 1); }},
      {"failed-for-a-reason",
       [](Tape& tape) {
         tape.job(1, 0,
                  [](PyTorchJob& job) { job.spec.edit().runPolicy.activeDeadlineSeconds = 60; });
         tape.status([](JobStatus& status) { status.startTime = virtual_start; });
         tape.wait(59s);
         tape.finish("Failed");
       },
       [](Tape& tape) {
         tape.job(1, 0,
                  [](PyTorchJob& job) { job.spec.edit().runPolicy.activeDeadlineSeconds = 60; });
         tape.status([](JobStatus& status) { status.startTime = virtual_start; });
         tape.wait(60s);
         tape.finish("Failed");
       }},
      {"restarting-for-a-reason",
       [](Tape& tape) {
         tape.job(1, 1);
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.run("worker-0");
         tape.condition("Restarting");
       },
       [](Tape& tape) {
         tape.job(1, 1);
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.run("worker-0");
         tape.terminate("worker-0", "user");
         tape.condition("Restarting");
       }},
      {"succeeded-for-a-reason",
       [](Tape& tape) {
         tape.job(1, 1);
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.exit("worker-0", 0);
         tape.finish("Succeeded");
       },
       [](Tape& tape) { succeed(tape, 3); }},
      {"succeeded-for-a-reason",
       [](Tape& tape) {
         tape.job(0, 2);
         for (const std::string pod : {"worker-0", "worker-1"}) tape.pod(pod);
         tape.exit("worker-0", 0);
         tape.finish("Succeeded");
       },
       [](Tape& tape) {
         tape.job(0, 2, [](PyTorchJob& job) { job.spec.edit().elasticPolicy.emplace(); });
         for (const std::string pod : {"worker-0", "worker-1"}) tape.pod(pod);
         tape.exit("worker-0", 0);
         tape.finish("Succeeded");
       }},
      {"trained-to-the-end", [](Tape& tape) { succeed(tape, 2); },
       [](Tape& tape) { succeed(tape, 3); }},
      {"completion-time-set",
       [](Tape& tape) {
         succeed(tape, 0);
         tape.change("user", [](PyTorchJob& job) { job.status.reset(); });
         tape.condition("Failed");
       },
       [](Tape& tape) { succeed(tape, 3); }},
      {"restarting-after-end",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.condition("Restarting");
         tape.finish("Succeeded");
       },
       [](Tape& tape) {
         tape.job(1, 0);
         tape.condition("Restarting", "False");
         tape.finish("Succeeded");
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::ends_test
