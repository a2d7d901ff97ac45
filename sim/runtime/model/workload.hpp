// What a user says of a script that only a process could run, so that it can be modelled:
// images[].model of a scenario.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "runtime/model/backend.hpp"
#include "runtime/model/port_answers.hpp"

namespace ddptwin::model {

// Lines of a rank on its standard output, each with {rank}, {world_size}, {step} and {steps} filled
// in. Each by itself: absent, the line of the built-in worker (sim/workers/README.md); empty, none.
struct Prints {
  using Lines = std::optional<std::vector<std::string>>;
  Lines joined{};    // once init_process_group is done
  Lines step{};      // at the end of each step
  Lines finished{};  // after the last step

  friend bool operator==(const Prints&, const Prints&) = default;
};

struct LineFacts {
  int rank = 0;
  int world_size = 1;
  std::int64_t steps = 0, step = 0;
};
// A line of Prints as the rank prints it; what else stands in braces stays.
std::string filled_in(const std::string& line, const LineFacts& facts);

// What one rank does otherwise than all others; absent: as they do.
struct RankShare {
  std::optional<Duration> start{};      // it comes late
  std::optional<Duration> step_time{};  // it is slow
  std::optional<std::int64_t> steps{};  // it has fewer batches, or more
  friend bool operator==(const RankShare&, const RankShare&) = default;
};

// A handler of SIGTERM, as scripts install one. It runs between two lines of Python: not while its
// rank is in init_process_group or in a collective (spec/ddp-semantics.md §9.5).
struct TermHandler {
  int code = 143;
  bool save = false;     // writes the checkpoint of the last step done, where the rank writes one
  bool at_once = false;  // os._exit: the interpreter closes nothing
  std::vector<std::string> says{};
  friend bool operator==(const TermHandler&, const TermHandler&) = default;
};

// What a rank writes to a file.
struct Writes {
  std::string path{};  // {rank} is filled in
  std::uint64_t bytes = 0;
  std::int64_t every = 0;  // so much more at the end of each so many steps; 0: once, at the start
  std::optional<int> rank{};  // absent: every rank

  friend bool operator==(const Writes&, const Writes&) = default;
};

// A rank of a data-parallel training, started by the container's own command or by torchrun.
struct Workload {
  // From exec to init_process_group; absent: python3 importing torch, as the profile has it.
  std::optional<Duration> start{};
  // DistributedDataParallel around its model; without, a loop of all-reduces.
  bool ddp = true;
  std::int64_t steps = 20;
  Duration step_time = std::chrono::milliseconds(100);  // one step's own work, without all-reduce
  std::uint64_t gradient_bytes = 25U << 20U;            // of one rank in one step
  std::optional<Duration> timeout{};  // of init_process_group; absent: its backend's default
  // Absent: what the script's own words say, else Gloo.
  std::optional<Backend> backend{};
  bool destroys = true;                // destroy_process_group() after its last step
  std::string checkpoint{};            // a file; empty: none is written or read
  std::int64_t checkpoint_every = 0;   // steps; 0: after the last step only
  std::uint64_t checkpoint_bytes = 0;  // of the file
  std::vector<Writes> writes{};        // beside the checkpoint
  std::uint64_t memory = 0;            // bytes of one rank beside those of the interpreter
  // TCP ports of its own (metrics, health) from then on; of several ranks in a pod the first has
  // them.
  std::vector<ListeningPort> listens{};

  // No rank at all, but what a pod has beside them: it listens, and stays until its container ends.
  bool serves = false;
  std::map<int, RankShare> ranks{};
  bool joins = false;  // DDP's Join: who has no more steps goes along with who has (§5.2)
  std::optional<TermHandler> on_term{};  // absent: SIGTERM has its default action

  int exit_code = 0;                           // after the last step
  std::optional<std::int64_t> fail_at_step{};  // after this step
  bool fail_within_step = false;               // in the middle of its work, before its all-reduce
  std::vector<std::string> fail_says{};        // on standard error
  std::optional<int> fail_rank{};              // absent: every rank
  int fail_code = 1;
  bool fail_once = false;  // not again in the same pod, or where the checkpoint lies
  Prints prints{};
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
