// One rank of a data-parallel training as a program: the built-in worker (sim/workers/README.md)
// and a described script (workload.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"
#include "runtime/model/workload.hpp"

namespace ddptwin::model {

enum class Failing : std::uint8_t { exit, abort, segv, hang };

// What both kinds of ranks come down to.
struct RankPlan {
  Duration start{};           // of the process until its first act
  bool start_varies = false;  // it is an import of torch, and nobody has said how long it takes
  Duration first_ddp{};       // DDP's construction before its collectives
  Duration sooner{};  // how much sooner than with DDP its interpreter has left by an exception
  std::uint64_t memory = 0;

  std::int64_t steps = 0;
  Duration before{};     // of each step, before its all-reduce
  Duration step_time{};  // at least
  std::uint64_t bytes = 0;
  std::uint64_t shapes = 0;
  std::string first_shape{};
  Backend backend = Backend::gloo;
  bool destroys = true;  // destroy_process_group(), at its end
  Duration timeout{};
  Duration eager_connect{};

  std::string checkpoint{};
  std::int64_t checkpoint_every = 0;  // 0: after the last step only
  std::uint64_t checkpoint_bytes = 0;
  std::vector<Writes> writes{};

  int exit_code = 0;
  std::vector<ListeningPort> listens{};  // beside the store's
  int peer_loss_code = 1;
  std::int64_t fail_at_step = 0;
  int fail_code = 1;
  Failing fail_with = Failing::exit;
  std::optional<int> fail_rank{};
  bool fail_once = false;
  bool fail_within_step = false;
  std::optional<std::vector<std::string>> fail_says{};  // absent: the worker's own line

  std::map<int, RankShare> ranks{};
  bool joins = false;
  std::optional<TermHandler> on_term{};

  std::uint64_t allocate = 0;
  std::int64_t allocate_at_step = 0;
  std::optional<int> allocate_rank{};

  std::uint64_t identity = 0;  // of what is trained: same number, same parameters in the end
  Prints prints{};
  bool may_be_alone = false;  // a group of one where the variables name none
};

// `said`: the backend that the script itself names, where the workload says none.
RankPlan plan_of(const Workload& workload, const Model& model, Backend said = Backend::gloo);

using MakePlan = std::function<RankPlan(const Process&)>;
// The plan is made at the start, when it is known where the rank runs. `interpreter`: it leaves and
// closes its sockets as an interpreter does; otherwise both at once, with _exit().
std::unique_ptr<Program> make_rank(bool interpreter, MakePlan plan);
// Workload::serves.
std::unique_ptr<Program> make_server(std::vector<ListeningPort> listens, Duration start);
// `ddptwin-worker ARGUMENTS`, `ddptwin-worker-gloo ARGUMENTS`.
std::unique_ptr<Program> make_worker(const std::vector<std::string>& argv);

}  // namespace ddptwin::model
