// The constants of torchrun: a row each, a column per PyTorch (1.13.1; 2.x as
// spec/ddp-semantics.md chapter 9 measures 2.15). All sources are sections of
// spec/ddp-semantics.md, or upstream's file where it says so. What torchrun has in common with the
// ranks (store connects, network) is in profile.hpp.
#pragma once

#include <string_view>

#include "runtime/model/profile.hpp"

namespace ddptwin::torchrun {

struct Profile {
  const model::TorchProfile* torch = nullptr;

  // Command line.
  bool dashed_options = false;     // run.py: --nproc-per-node beside --nproc_per_node
  bool later_options = false;      // §9.5 first row: PET_LOCAL_ADDR, PET_SHUTDOWN_TIMEOUT, ...
  bool names_bounds = false;       // §9.5: 4:1 is refused with a sentence, not by a bare assert
  bool knows_xpu = false;          // §9.5
  bool lone_node_is_c10d = false;  // §9.5: nothing set: c10d on localhost:0
  std::string_view standalone_endpoint{};  // §9.5

  // Rendezvous.
  bool resolves_endpoint = false;    // c10d host election: also by the addresses of the name
  bool master_before_ranks = false;  // dynamic_rendezvous.py: MASTER_ADDR is agreed on first
  bool shares_store = false;         // §9.5: c10d workers use the agent's store
  // 1.13's elastic/utils/store.py: whoever exchanges roles leaves this timeout to the store, for
  // good; zero: it keeps its own.
  Duration exchange_timeout{};
  bool gathers_at_first = false;   // api.py: rank 0 assigns all ranks; 1.13: all read all
  Duration poll{};                 // §4.3: rendezvous poll, and how long a read state is kept
  Duration first_join_spread{};    // §4.3
  Duration join_timeout{};         // §4.3
  Duration last_call{};            // §4.3
  Duration close_timeout{};        // §4.3
  Duration heartbeat_timeout{};    // §4.3
  Duration keep_alive_interval{};  // §4.3
  int keep_alive_misses = 0;       // §4.3
  Duration read_timeout{};         // §4.3: c10d store read and connect
  Duration static_timeout{};       // §9.5: the launcher passes 900

  // Workers.
  model::OnMachine start{};           // §8.1, §9.8: exec to the rendezvous
  Duration spawn{};                   // §4.4: rendezvous complete to workers started
  bool own_session = false;           // §9.5: workers survive a signal to the agent's group
  bool torch_nccl_names = false;      // §9.5: TORCH_NCCL_ASYNC_ERROR_HANDLING
  bool names_signals = false;         // §9.5: TORCHELASTIC_SIGNALS_TO_HANDLE
  bool glog_lines = false;            // torch/_logging: its own log lines are glog's
  Duration monitor_interval{};        // §4.3, §9.5
  Duration shutdown_timeout{};        // §4.3, §9.5: SIGTERM to SIGKILL
  bool barrier_on_failure = false;    // §4.4, §9.1 5
  Duration exit_barrier{};            // §4.3
  model::OnMachine leaving{};         // §4.4: the last decision until the process is gone
  model::OnMachine failed_leaving{};  // §9.5: the same with a traceback
};

inline constexpr Profile torchrun_1{
    .torch = &model::torch_1,
    .standalone_endpoint = "localhost:29400",
    .exchange_timeout = 300s,
    .poll = 1s,
    .first_join_spread = 300ms,
    .join_timeout = 600s,
    .last_call = 30s,
    .close_timeout = 30s,
    .heartbeat_timeout = 5s,
    .keep_alive_interval = 5s,
    .keep_alive_misses = 3,
    .read_timeout = 60s,
    .static_timeout = 900s,
    .start = {1300ms, 3s},
    .spawn = 30ms,
    .monitor_interval = 5s,
    .shutdown_timeout = 30s,
    .barrier_on_failure = true,
    .exit_barrier = 300s,
    .leaving = {300ms, 400ms},
    .failed_leaving = {300ms, 400ms},
};

inline constexpr Profile torchrun_2{
    .torch = &model::torch_2,
    .dashed_options = true,
    .later_options = true,
    .names_bounds = true,
    .knows_xpu = true,
    .lone_node_is_c10d = true,
    .standalone_endpoint = "localhost:0",
    .resolves_endpoint = true,
    .master_before_ranks = true,
    .shares_store = true,
    .gathers_at_first = true,
    .poll = 1s,
    .first_join_spread = 300ms,
    .join_timeout = 600s,
    .last_call = 30s,
    .close_timeout = 30s,
    .heartbeat_timeout = 5s,
    .keep_alive_interval = 5s,
    .keep_alive_misses = 3,
    .read_timeout = 60s,
    .static_timeout = 900s,
    .start = {1800ms, 4500ms},
    .spawn = 30ms,
    .own_session = true,
    .torch_nccl_names = true,
    .names_signals = true,
    .glog_lines = true,
    .monitor_interval = 100ms,
    .shutdown_timeout = 30s,
    .exit_barrier = 300s,
    .leaving = {700ms, 1s},
    .failed_leaving = {1500ms, 1500ms},
};

// torchrun of the PyTorch that the ranks have.
constexpr const Profile& profile_of(const model::TorchProfile& torch) {
  return torch.name == torchrun_2.torch->name ? torchrun_2 : torchrun_1;
}

}  // namespace ddptwin::torchrun
