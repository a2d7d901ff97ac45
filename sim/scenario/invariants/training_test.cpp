#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::training_test {
namespace {

void joined(Tape& tape) {
  tape.say("master-0", "joined rank 0 world_size 2");
  tape.say("worker-0", "joined rank 1 world_size 2");
}

void started(Tape& tape) {
  tape.job(1, 1);
  for (const std::string pod : {"master-0", "worker-0"}) {
    tape.pod(pod);
    tape.run(pod);
  }
  joined(tape);
}

void steps(Tape& tape, int from, int to) {
  for (int i = from; i <= to; ++i) {
    tape.say("master-0", "step " + std::to_string(i) + "/9 rank 0 loss 1.0");
    tape.say("worker-0", "step " + std::to_string(i) + "/9 rank 1 loss 1.0");
    tape.wait(2s);
  }
}

void process_ends(Tape& tape) {
  for (const std::string pod : {"master-0", "worker-0"})
    tape.write(RecordKind::container, "kubelet", "default/j-" + pod + "/pytorch", "exited");
}

// All begin anew with the checkpoint of that step.
void resumed_at(Tape& tape, int step) {
  started(tape);
  steps(tape, 1, step);
  tape.say("master-0", "checkpoint step " + std::to_string(step));
  process_ends(tape);
  joined(tape);
}

constexpr const char* closing_signal =
    "W0101 00:00:09.0 1 torch/distributed/elastic/multiprocessing/api.py] "
    "Sending process 4 closing signal SIGTERM";

// torchrun's agents stay: of a first new group one rank alone has come, and ends with that line;
// then both come.
void comes_alone_first(Tape& tape, const char* end) {
  started(tape);
  steps(tape, 1, 2);
  tape.say("worker-0", "RuntimeError: Connection closed by peer [10.0.0.1]:4000");
  tape.say("master-0", "joined rank 0 world_size 2");
  tape.say("master-0", end);
  tape.say("worker-0", "joined rank 1 world_size 2");
  tape.say("master-0", "joined rank 0 world_size 2");
  tape.wait(2s);
  steps(tape, 3, 5);
}

// torchrun's agents stay, and rank 1 has to join twice.
void joins_between(Tape& tape) {
  const char* lost = "[rank1]: RuntimeError: Connection closed by peer [10.0.0.1]:4000";
  tape.say("worker-0", lost);
  tape.say("worker-0", "joined rank 1 world_size 2");
  tape.say("master-0", "joined rank 0 world_size 2");
  tape.say("worker-0", lost);
  tape.say("worker-0", "joined rank 1 world_size 2");
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"rendezvous",
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         tape.say("worker-0", "joined rank 1 world_size 2");  // a group of its own
         tape.wait(2s);
         tape.say("master-0", "step 3/9 rank 0 loss 1.0");
       },
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         process_ends(tape);
         joined(tape);
         steps(tape, 1, 2);
       }},
      {"rendezvous",
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         tape.say("master-0", "joined rank 0 world_size 3");
         tape.wait(2s);
         tape.say("worker-0", "step 3/9 rank 1 loss 1.0");
       },
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         // One rank alone tries again, in vain; then both do, the other one first.
         tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "exited");
         tape.say("worker-0", "joined rank 1 world_size 2");
         process_ends(tape);
         joined(tape);
         steps(tape, 1, 2);
       }},
      {"rendezvous",
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         tape.pod("worker-1");
         tape.run("worker-1");
         tape.say("worker-1", "joined rank 2 world_size 3");
         tape.say("worker-0", "joined rank 1 world_size 3");
         tape.wait(2s);
         tape.say("master-0", "step 3/9 rank 0 loss 1.0");
       },
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         tape.pod("worker-1");  // it was scaled: the new one waits in vain
         tape.run("worker-1");
         tape.say("worker-1", "joined rank 2 world_size 3");
         tape.wait(2s);
         steps(tape, 3, 5);
         tape.write(RecordKind::container, "kubelet", "default/j-worker-1/pytorch", "exited");
         tape.say("worker-1", "joined rank 2 world_size 3");
         tape.wait(2s);
         steps(tape, 6, 8);
       }},
      {"rendezvous",
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         joined(tape);
         tape.say("master-0", "joined rank 0 world_size 2");
         tape.wait(2s);
         tape.say("worker-0", "step 3/9 rank 1 loss 1.0");
       },
       [](Tape& tape) {
         comes_alone_first(tape, "torch.distributed.DistStoreError: wait timeout after 60000ms");
       }},
      // Its agent ends the one that had come: the others' agents have lost theirs.
      {"rendezvous",
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         joined(tape);
         tape.say("master-0", closing_signal);
         tape.say("worker-0", "joined rank 1 world_size 2");
         tape.say("master-0", "joined rank 0 world_size 2");
         tape.say("worker-0", "joined rank 1 world_size 2");
         tape.wait(2s);
         tape.say("master-0", "step 3/9 rank 0 loss 1.0");
       },
       [](Tape& tape) { comes_alone_first(tape, closing_signal); }},
      {"rendezvous",
       [](Tape& tape) {
         started(tape);
         tape.say("worker-0", "joined rank 2 world_size 2");
       },
       [](Tape& tape) { started(tape); }},
      {"lockstep",
       [](Tape& tape) {
         started(tape);
         tape.say("master-0", "step 1/9 rank 0 loss 1.0");
         tape.say("master-0", "step 2/9 rank 0 loss 1.0");
         tape.wait(2s);
         tape.say("master-0", "step 3/9 rank 0 loss 1.0");
       },
       [](Tape& tape) {
         started(tape);
         tape.say("master-0", "step 1/9 rank 0 loss 1.0");
         tape.say("master-0", "step 2/9 rank 0 loss 1.0");  // read late, not done late
         tape.say("worker-0", "step 1/9 rank 1 loss 1.0");
         tape.say("worker-0", "step 2/9 rank 1 loss 1.0");
         steps(tape, 3, 5);
       }},
      {"lockstep",
       [](Tape& tape) {
         started(tape);
         tape.say("master-0", "step 4/9 rank 0 loss 1.0");
         tape.say("worker-0", "step 1/9 rank 1 loss 1.0");
       },
       [](Tape& tape) {
         tape.job(0, 2);  // scripts that do not train together
         for (const std::string pod : {"worker-0", "worker-1"}) tape.pod(pod);
         tape.say("worker-0", "step 4/9");
         tape.wait(2s);
         tape.say("worker-0", "step 6/9");
         tape.say("worker-1", "step 1/9");
       }},
      // DDP's Join: who has fewer batches says so.
      {"lockstep",
       [](Tape& tape) {
         started(tape);
         tape.say("master-0", "step 1/3 rank 0");
         for (const std::string step : {"1", "2", "3", "4"}) {
           tape.say("worker-0", "step " + step + "/5 rank 1");
           tape.wait(2s);
         }
       },
       [](Tape& tape) {
         started(tape);
         for (const std::string step : {"1", "2", "3", "4", "5"}) {
           if (step < "3") tape.say("master-0", "step " + step + "/2 rank 0");
           tape.say("worker-0", "step " + step + "/5 rank 1");
           tape.wait(2s);
         }
       }},
      // Agents begin anew one by one: a rank of the attempt before has joined, and dies when the
      // others have come.
      {"lockstep",
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         joins_between(tape);
         for (const std::string step : {"1", "2", "3"}) {
           tape.say("worker-0", "step " + step + "/9 rank 1");
           tape.wait(2s);
         }
       },
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
         joins_between(tape);
         steps(tape, 1, 3);
       }},
      {"checkpoint",
       [](Tape& tape) {
         resumed_at(tape, 4);
         steps(tape, 3, 4);
       },
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 4);
         tape.say("master-0", "checkpoint step 4");
         steps(tape, 5, 6);
         process_ends(tape);
         joined(tape);
         steps(tape, 5, 6);
       }},
      {"checkpoint",
       [](Tape& tape) {
         started(tape);
         steps(tape, 3, 4);
       },
       [](Tape& tape) {
         started(tape);
         steps(tape, 1, 2);
       }},
      // Another rank of the same training may be the first to end the step that is kept.
      {"checkpoint",
       [](Tape& tape) {
         resumed_at(tape, 4);
         tape.say("worker-0", "step 4/4 rank 1 loss 1.0");
       },
       [](Tape& tape) {
         resumed_at(tape, 3);
         tape.say("master-0", "step 4/4 rank 0 loss 1.0");
         tape.say("master-0", "checkpoint step 4");
         tape.say("worker-0", "step 4/4 rank 1 loss 1.0");
       }},
      {"parameters",
       [](Tape& tape) {
         started(tape);
         tape.say("master-0", "finished rank 0 steps 9 parameters aa");
         tape.say("worker-0", "finished rank 1 steps 9 parameters bb");
       },
       [](Tape& tape) {
         started(tape);
         tape.say("master-0", "finished rank 0 steps 9 parameters aa");
         tape.say("worker-0", "finished rank 1 steps 9 parameters aa");
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::training_test
