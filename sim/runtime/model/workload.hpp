// What a user says of a script that only a process could run, so that it can be modelled:
// images[].model of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "runtime/model/port_answers.hpp"

namespace ddptwin::model {

// Lines of a rank on its standard output, each with {rank}, {world_size}, {step} and {steps} filled
// in.
struct Prints {
  std::vector<std::string> joined{};    // once init_process_group is done
  std::vector<std::string> step{};      // at the end of each step
  std::vector<std::string> finished{};  // after the last step

  friend bool operator==(const Prints&, const Prints&) = default;
};

// A rank of a data-parallel training, started by the container's own command or by torchrun.
struct Workload {
  // From exec to init_process_group; absent: python3 importing torch, as the profile has it.
  std::optional<Duration> start{};
  std::int64_t steps = 20;
  Duration step_time = std::chrono::milliseconds(100);  // one step's own work, without all-reduce
  std::uint64_t gradient_bytes = 25U << 20U;            // of one rank in one step
  Duration timeout = std::chrono::minutes(30);          // of init_process_group
  std::string checkpoint{};                             // a file; empty: none is written or read
  std::int64_t checkpoint_every = 0;                    // steps; 0: after the last step only
  std::uint64_t memory = 0;  // bytes of one rank beside those of the interpreter
  // TCP ports of its own (metrics, health) from then on; of several ranks in a pod the first has
  // them.
  std::vector<ListeningPort> listens{};

  int exit_code = 0;                           // after the last step
  std::optional<std::int64_t> fail_at_step{};  // after this step
  std::optional<int> fail_rank{};              // absent: every rank
  int fail_code = 1;
  bool fail_once = false;  // not again in the same pod, or where the checkpoint lies
  // Absent: the lines of the built-in worker (sim/workers/README.md).
  std::optional<Prints> prints{};
  int peer_loss_code = 1;  // when a collective fails; 1 is an uncaught exception

  // The command of the container starts it through torchrun, whatever the command is called; where
  // the command is torchrun itself this need not be said.
  bool torchrun = false;
  // Nobody described the script: of a container whose command cannot be had this is what stands in
  // (stand_in.hpp).
  bool stands_in = false;

  friend bool operator==(const Workload&, const Workload&) = default;
};

}  // namespace ddptwin::model
