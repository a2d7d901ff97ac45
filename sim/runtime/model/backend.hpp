// The backends of process groups, a row each: what init_process_group("gloo") and ("nccl") are to
// the ranks that call it, and how their ranks hear of each other's ends.
// Sources: spec/ddp-semantics.md (Gloo), spec/gpu.md §5 (NCCL, measured with PyTorch 2.11 and NCCL
// 2.28.9 on one H100); "source" is PyTorch's torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, of
// what nobody has measured.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/random.hpp"
#include "core/time.hpp"

namespace ddptwin::model {

enum class Machine : std::uint8_t;
struct TorchProfile;

enum class Backend : std::uint8_t { gloo, nccl };

// Anything from the shortest to the longest, evenly.
struct Span {
  Duration least{}, most{};
  // One draw, and none where both are the same.
  Duration drawn(Random& random) const;
};

// ProcessGroupNCCL of one PyTorch. Names of environment variables; of spans, what they lie between.
struct NcclProfile {
  std::string_view version{};  // of NCCL, as its errors name it
  Duration timeout{};          // init_process_group's default, torch/distributed/constants.py
  Duration python_start{};     // gpu.md §5: exec until torch with CUDA is imported
  Duration worker_start{};     // the built-in worker's, which no zygote has forked
  Span join{};                 // gpu.md §5: init_process_group, with the card's context
  Span first_collective{};     // gpu.md §5: connections and kernels, before its data
  Duration refused{};          // source of NCCL: 35 tries to reach a communicator's dead root
  Span peer_loss{};            // a peer's sockets close until the watchdog says so
  Span timeout_late{};         // the timeout until the watchdog says so

  std::string_view blocking_wait{}, error_handling{}, dump_wait{};  // variables
  bool handles_errors = false;   // error_handling's default: an error ends the process
  bool tells_unhandled = false;  // without, the watchdog says it all the same
  bool blocking_raises = false;  // with blocking_wait, the caller gets an exception
  Span dump_signal{};            // from the watchdog's words until it signals the dump; zero: never
  Duration dump_wait_usual{};    // dump_wait's default
  int dump_waits = 0;            // so many of these it sleeps then
  Span aborts{};                 // from there until SIGABRT

  std::string_view no_gpu{};        // Python's type of the error without one
  std::string_view thrown{};        // what terminate() was called for
  std::string_view remote_words{};  // ncclGetErrorString() of a peer's end
  std::string_view remote_detail{};
  bool names_elements = false;  // NumelIn and NumelOut of a WorkNCCL
  bool names_group = false;     // its watchdog's end, "[PG ID 0 ...", "[rank0]:"
};

// §5 of gpu.md, except:
// - the sleep is four times dump_wait (source: Watchdog::runLoop), which gives the measured 64-66 s
//   with its 15 s as well as the 12.4-13.4 s with 2;
// - that with error_handling=0 nothing ends it ever (source; seen for 40 s).
inline constexpr NcclProfile nccl_2{
    .version = "2.28.9",
    .timeout = 10min,
    .python_start = 3600ms,
    .worker_start = 600ms,
    .join = {300ms, 1200ms},
    .first_collective = {500ms, 600ms},
    .refused = 600ms,
    .peer_loss = {300ms, 900ms},
    .timeout_late = {4ms, 89ms},
    .blocking_wait = "TORCH_NCCL_BLOCKING_WAIT",
    .error_handling = "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    .dump_wait = "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC",
    .handles_errors = true,
    .tells_unhandled = true,
    .dump_signal = {3700ms, 4800ms},
    .dump_wait_usual = 15s,
    .dump_waits = 4,
    .aborts = {100ms, 300ms},
    .no_gpu = "ValueError",
    .thrown = "c10::DistBackendError",
    .remote_words = "remote process exited or there was a network error",
    .remote_detail =
        "ncclRemoteError: A call failed possibly due to a network error or a remote "
        "process exiting prematurely.",
    .names_elements = true,
    .names_group = true,
};

// 1.13, all of it from its source, nothing measured: a watchdog that looks every 10 s and a thread
// of cleanup every second, neither of which does or says anything unless error_handling is set, as
// torchrun sets it for its ranks; without, the others hang. Starts and joins as those of 2.x.
inline constexpr NcclProfile nccl_1{
    .version = "2.14.3",
    .timeout = 30min,
    .python_start = 3600ms,
    .worker_start = 600ms,
    .join = {300ms, 1200ms},
    .first_collective = {500ms, 600ms},
    .refused = 600ms,
    .peer_loss = {0s, 10s},
    .timeout_late = {0s, 10s},
    .blocking_wait = "NCCL_BLOCKING_WAIT",
    .error_handling = "NCCL_ASYNC_ERROR_HANDLING",
    .dump_wait = {},
    .handles_errors = false,
    .tells_unhandled = false,
    .blocking_raises = true,
    .aborts = {0s, 1s},
    .no_gpu = "RuntimeError",
    .thrown = "std::runtime_error",
    .remote_words = "unhandled system error",
    .remote_detail =
        "ncclSystemError: System call (e.g. socket, malloc) or external library call "
        "failed or device error. It can be also caused by unexpected exit of a remote "
        "peer.",
};

// How the ranks of a group hear of each other.
struct GroupRules {
  bool along_ring = true;         // by the two neighbours' sockets; otherwise each rank by itself
  bool closes_at_timeout = true;  // a rank whose collective timed out closes its sockets at once
  Span peer_loss{};               // a rank's sockets close until another knows
  Span timeout_late{};            // its timeout until a rank knows
};

struct BackendRow {
  Backend backend{};
  std::string_view name{};           // init_process_group's, and images[].model.backend's
  bool meets_in_collective = false;  // the ranks connect in their first one, not before
  bool needs_gpu = false;
  bool stands_after_loss = false;  // a watchdog ends the process; otherwise the caller raises
  Duration (*timeout)(const TorchProfile&);  // of init_process_group, where nobody says one
  GroupRules (*rules)(const TorchProfile&, Machine);
};

const BackendRow& row_of(Backend backend);
// Null: no backend is called so.
const BackendRow* backend_named(std::string_view name);

}  // namespace ddptwin::model
