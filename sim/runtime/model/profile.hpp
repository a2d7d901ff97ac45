// The constants of the modelled DDP worker: a row each, a column per PyTorch (1.13.1 as official
// images have it, measured with Debian's; that one itself, under Python 3.11; 2.x as
// spec/ddp-semantics.md chapter 9 measures 2.15) and one per kind of machine.
// All sources are sections of spec/ddp-semantics.md. Durations are whole nanoseconds, so that every
// compiler computes the same. torchrun's own constants are in torchrun/profile.hpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/random.hpp"
#include "core/time.hpp"
#include "runtime/model/backend.hpp"

namespace ddptwin::model {

// The machine of chapter 0, against which real runs of the twin are compared, or a plausible
// cluster (an assumption, §8.1).
enum class Machine : std::uint8_t { host, cluster };

struct OnMachine {
  Duration host{};
  Duration cluster{};
  constexpr Duration on(Machine machine) const { return machine == Machine::host ? host : cluster; }
};

struct TorchProfile {
  std::string_view name{};
  const NcclProfile* nccl = nullptr;  // null: built without it (§9.6)

  // Store connect.
  bool backs_off = false;      // §9.1 1: back-off with jitter; otherwise a grid
  Duration connect_grid{};     // §3.3: between tries of 1.13
  Duration back_off_first{};   // §9.8: mean of the first sleep, times U(0.5, 1.5)
  int back_off_percent = 100;  // §9.8: growth of the mean from sleep to sleep
  Duration back_off_max{};     // §9.8
  Duration no_host{};          // §3.3: ARP failure for the mapped and the plain address
  Duration spread_per_rank{};  // §9.2: each client first sleeps 1..world of these

  // Rendezvous.
  Duration world_poll{};             // §8.1: rank 0 looks at the count of clients
  Duration world_slack{};            // §3.2: it waits until more than T, in whole seconds
  bool fails_without_world = false;  // §9.2: 1.13 silently goes on
  OnMachine mesh_per_rank{};         // §8.1, §9.2: 3 ranks 10-20 ms
  int pair_timeouts = 0;             // §3.2, §9.8: a pair's connect gives up after so many T
  int refused_tries = 0;             // §3.2, §9.2: back to back
  bool names_first = false;          // §2.1: rank_<r>; each waits for those before it
  bool checks_address_size = false;  // §3.3: 136 vs 204
  bool keeps_listening = false;      // §9.2: a listener a rank for the group's life, not a pair
  bool store_barrier = false;        // §9.2
  bool attempt_keys = false;         // §9.5: an agent's store has keys of each attempt
  Duration barrier_poll{};           // §2.1

  // Training.
  OnMachine peer_loss{};        // §3.1, §9.3, §8.1: a socket closes until the neighbour raises
  Duration peer_loss_spread{};  // §3.1: 11-28 ms; §9.3: 17-65 ms
  Duration timeout_slack{};     // §3.2: T + 30 ms
  bool advises = false;         // §9.3: the texts end with advice
  bool named_errors = false;    // §9.2: DistNetworkError, DistStoreError for RuntimeError
  bool names_ranks = false;     // §9.2: [rank0]: before a traceback's lines once it has joined
  bool debian_texts = false;    // §3.1-§3.3: wording and lines of 1.13; else of §9.2, §9.3
  OnMachine closing{};          // §3.1, §9.3: exception until an interpreter closes its sockets
  OnMachine leaving{};          // §8.1, §9.8: exception until the process is gone
  OnMachine clean_closing{};    // §3.1, §9.3: the end of a script until its sockets close
  OnMachine clean_leaving{};    // §9.3, §9.7

  // Processes.
  OnMachine python_start{};         // §8.1, §9.7, §9.8: exec until torch is imported
  int start_spread_percent = 0;     // either way: §1.2, minimum and median of starts that are warm
  OnMachine first_ddp{};            // §9.8: imports torch._dynamo
  Duration without_ddp{};           // §9.3: how much sooner an interpreter without that has left
  std::uint64_t python_memory = 0;  // §1.2, §9.7: private bytes of a rank with DDP
  std::uint64_t plain_memory = 0;   // §9.7: and of one with all-reduces only
  bool needs_redirects = false;     // §4: torchrun's Std.from_str("0") is None under Python 3.11
};

struct Timing {
  Machine machine = Machine::host;
  std::string_view name{};

  Duration sandbox{};        // §6.1: a pod's namespaces; cluster: assumption
  Duration container{};      // §1.3: clone, root, exec; cluster: assumption
  Duration image_pull{};     // host: images are folders; cluster: assumption
  Duration reap{};           // from the end of a container's process 1 until the runtime tells it
  Duration worker_start{};   // §1.3: fork from the zygote
  Duration program_start{};  // §1.3: exec of a small program
  Duration round_trip{};     // §6.4; cluster: §8.1 "RTT"
  Duration store_op{};       // §8.1
  Duration dns{};            // §7.2: one question

  // §8.1 all-reduce of S bytes over N ranks. host: max(2(N-1) a, N(4N-4) c / P) + 2(N-1) S / B;
  // cluster: 2(N-1) (a + S / (N B)).
  Duration hop{};                     // a
  Duration processor{};               // c; 0: the term is absent
  int processors = 1;                 // P
  std::int64_t bytes_per_second = 1;  // B
};

inline constexpr TorchProfile torch_1{
    .name = "1.13",
    .nccl = &nccl_1,
    .backs_off = false,
    .connect_grid = 1s,
    .no_host = 6140ms,
    .world_poll = 10ms,
    .world_slack = 1s,
    .fails_without_world = false,
    .mesh_per_rank = {20ms, 10ms},
    .pair_timeouts = 5,
    .refused_tries = 1,
    .names_first = true,
    .checks_address_size = true,
    .keeps_listening = false,
    .store_barrier = true,
    .attempt_keys = true,
    .barrier_poll = 10ms,
    .peer_loss = {20ms, 5ms},
    .peer_loss_spread = 8ms,
    .timeout_slack = 30ms,
    .advises = false,
    .named_errors = false,
    .debian_texts = true,
    .closing = {140ms, 250ms},
    .leaving = {250ms, 400ms},
    .clean_closing = {120ms, 200ms},
    .clean_leaving = {250ms, 400ms},
    .python_start = {950ms, 3s},
    .start_spread_percent = 6,
    .first_ddp = {0s, 0s},
    .python_memory = 122U << 20U,
    .plain_memory = 114U << 20U,
};

// As Debian 12 packages it: the twin's real workers have it where no other is named.
inline constexpr TorchProfile torch_1_debian = [] {
  TorchProfile made = torch_1;
  made.name = "1.13+py3.11";
  made.nccl = nullptr;
  made.needs_redirects = true;
  return made;
}();

inline constexpr TorchProfile torch_2{
    .name = "2.x",
    .nccl = &nccl_2,
    .backs_off = true,
    .back_off_first = 500ms,
    .back_off_percent = 150,
    .back_off_max = 60s,
    .no_host = 6140ms,
    .spread_per_rank = 1ms,
    .world_poll = 10ms,
    .world_slack = 1s,
    .fails_without_world = true,
    .mesh_per_rank = {5ms, 5ms},
    .pair_timeouts = 5,
    .refused_tries = 4,
    .names_first = false,
    .checks_address_size = false,
    .keeps_listening = true,
    .store_barrier = false,
    .attempt_keys = false,
    .peer_loss = {30ms, 5ms},
    .peer_loss_spread = 12ms,
    .timeout_slack = 30ms,
    .advises = true,
    .named_errors = true,
    .names_ranks = true,
    .debian_texts = false,
    .closing = {900ms, 1s},
    .leaving = {900ms, 1s},
    .clean_closing = {700ms, 1s},
    .clean_leaving = {700ms, 1s},
    .python_start = {1800ms, 4500ms},
    .start_spread_percent = 6,
    .first_ddp = {1200ms, 1200ms},
    .without_ddp = 200ms,
    .python_memory = 381U << 20U,
    .plain_memory = 290U << 20U,
};

inline constexpr Timing host_timing{
    .machine = Machine::host,
    .name = "host",
    .sandbox = 1300us,
    .container = 3ms,
    .image_pull = 0s,
    .worker_start = 5ms,
    .program_start = 600us,
    .round_trip = 60us,
    .store_op = 20us,
    .dns = 100us,
    .hop = 25us,
    .processor = 17500ns,
    .processors = 2,
    .bytes_per_second = 3'050'000'000,
};

inline constexpr Timing cluster_timing{
    .machine = Machine::cluster,
    .name = "cluster",
    .sandbox = 300ms,
    .container = 200ms,
    .image_pull = 2s,
    .worker_start = 100ms,
    .program_start = 5ms,
    .round_trip = 200us,
    .store_op = 50us,
    .dns = 500us,
    .hop = 60us,
    .processor = 0ns,
    .processors = 1,
    .bytes_per_second = 1'100'000'000,
};

// A start of Python with torch in it: chance is the process's own.
Duration varied_start(const TorchProfile& torch, Duration start, Random chance);

// One ring all-reduce; zero for a world of one.
Duration all_reduce(const Timing& timing, std::uint64_t bytes, int world);

// The bytes of one message of its ring, of floats: gloo/allreduce.cc, the same in both versions.
// The tensor's parts are at least two for each rank, and none is longer than 1 MiB.
std::uint64_t ring_segment(std::uint64_t bytes, int world);

}  // namespace ddptwin::model
