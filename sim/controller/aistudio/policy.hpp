// What the document leaves open, and what it says of names and values: one constant or one function
// each, so that a correction touches one place (spec/aistudio.md §2 to §5; PROPOSED unless it says
// [S3]).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/core_v1.hpp"
#include "objects/ddptask.hpp"

namespace ddptwin::controller::aistudio {

inline constexpr std::string_view worker_container = "worker";
inline constexpr std::string_view check_container = "atl-check";
inline constexpr std::string_view atlctl_path = "/usr/local/bin/atlctl";
inline constexpr std::string_view storage_folder = "/mnt/aistudio/";  // of shared storages
inline constexpr int master_port = 29500;                             // [S3]
inline constexpr std::string_view gpu_resource = "nvidia.com/gpu";
inline constexpr std::int64_t grace_seconds = 30;  // of the others, once one has failed (G3)
// Open while the entry command of a worker that can be debugged runs; asked for so often (§8).
inline constexpr int running_port = 29403;
inline constexpr std::int32_t running_period_seconds = 1;
// By this termination message a worker's agent tells that `atlctl stop --task` was given (§8).
inline constexpr std::string_view stop_text = "atlctl stop --task";
// The check ends by itself at its timeout; where it does not, it is ended so much later.
inline constexpr Duration check_slack = std::chrono::seconds(10);
// A worker that goes without an exit code fails the task (G4), and so does one that is being
// deleted by somebody else.
inline constexpr bool lost_worker_fails = true;
// Variables that a user may not set (G8).
inline constexpr std::array<std::string_view, 3> reserved_variables{"MASTER_ADDR", "WORLD_SIZE",
                                                                    "RANK"};
// A variable of the user's that holds for all workers (G8).
inline constexpr std::string_view port_variable = "MASTER_PORT";

namespace label {
inline constexpr std::string_view task = "aistudio.twin/task";
inline constexpr std::string_view rank = "aistudio.twin/rank";
inline constexpr std::string_view attempt = "aistudio.twin/attempt";
}  // namespace label

namespace phase {
inline constexpr std::string_view queued = "Queued";
inline constexpr std::string_view creating = "Creating";
inline constexpr std::string_view checking = "SelfChecking";
inline constexpr std::string_view running = "Running";
inline constexpr std::string_view debugging = "Debugging";
inline constexpr std::string_view succeeded = "Succeeded";
inline constexpr std::string_view failed = "Failed";
inline constexpr std::string_view stopped = "Stopped";
inline constexpr std::string_view lost = "Lost";  // of a worker
}  // namespace phase

namespace reason {
inline constexpr std::string_view check_failed = "SelfCheckFailed";
inline constexpr std::string_view worker_failed = "WorkerFailed";
inline constexpr std::string_view worker_lost = "WorkerLost";
inline constexpr std::string_view all_succeeded = "AllWorkersSucceeded";
inline constexpr std::string_view stopped = "StoppedByUser";
inline constexpr std::string_view debugging = "StoppedByAtlctl";
inline constexpr std::string_view resumed = "RunByAtlctl";
inline constexpr std::string_view retry = "FaultToleranceRetry";
}  // namespace reason

// jo-<16 characters>-worker-<i>
std::string task_stem(const DDPTask& task);
std::string worker_name(const DDPTask& task, int rank);

int workers_of(const DDPTaskSpec& spec);
bool checks(const DDPTaskSpec& spec);
std::vector<std::string> check_items(const DDPTaskSpec& spec);  // none: it is switched off
// Those that keep the training from its start when they fail (§4, G2).
std::vector<std::string> blocking_items(const DDPTaskSpec& spec);
int check_timeout(const DDPTaskSpec& spec);  // seconds
int retries_of(const DDPTaskSpec& spec);     // none without fault tolerance
bool is_terminal(std::string_view phase);

}  // namespace ddptwin::controller::aistudio
