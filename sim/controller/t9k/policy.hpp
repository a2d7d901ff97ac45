// What a PyTorchTrainingJob asks for, worked out of its specification: sizes, names, which
// container trains, what may be tried again. Each rule that the documents leave open is one
// constant or one function, here or in texts.hpp, marked PROPOSED with its number in spec/t9k.md
// §19.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/pytorchtrainingjob.hpp"

namespace ddptwin::controller::t9k {

inline constexpr std::string_view scheduler_name = "t9k-scheduler";

namespace label {
inline constexpr std::string_view owner_name = "tensorstack.dev/owner-name";
inline constexpr std::string_view owner_kind = "tensorstack.dev/owner-kind";
inline constexpr std::string_view component = "tensorstack.dev/component";
inline constexpr std::string_view component_type = "tensorstack.dev/component-type";
inline constexpr std::string_view replica_type = "replica-type";
inline constexpr std::string_view replica_index = "replica-index";
inline constexpr std::string_view job_role = "job-role";
inline constexpr std::string_view group_name = "scheduler.tensorstack.dev/group-name";
inline constexpr std::string_view queue = "scheduler.tensorstack.dev/queue";
inline constexpr std::string_view role = "scheduler.tensorstack.dev/role";
}  // namespace label

// ---- sizes -------------------------------------------------------------------------------------

bool is_torchrun(const PyTorchTrainingJobSpec& spec);
// Only with torchrun (§10).
bool is_elastic(const PyTorchTrainingJobSpec& spec);
// It asks to be, and cannot.
bool ignores_elastic(const PyTorchTrainingJobSpec& spec);
// The sum of all groups' replicas, brought within the bounds. PROPOSED (G27).
int default_expected(const PyTorchTrainingJobSpec& spec);
// How many replicas each group is to have now, in their order (§5, §10).
std::vector<int> targets(const PyTorchTrainingJobSpec& spec);
// `total` shared out by weights: the largest remainder, of equal ones the earlier group; the first
// group, which holds the master, has at least one. PROPOSED (G26).
std::vector<int> shares(int total, const std::vector<int>& weights);
int sum_of(const std::vector<int>& numbers);
// Pods that must run for the job to be Running: all; of an elastic job the least. PROPOSED (G17).
int running_needed(const PyTorchTrainingJobSpec& spec);
// What a PodGroup asks for (§14).
int gang_size(const PyTorchTrainingJobSpec& spec);

// ---- names -------------------------------------------------------------------------------------

inline constexpr std::size_t suffix_length = 5;
inline constexpr std::size_t replica_name_max = 63;  // a DNS label's. PROPOSED (§2.4)
// The first hexadecimal digits of FNV-1a of the UID. PROPOSED (G6).
std::string suffix_of(std::string_view uid);
std::string base_name(const PyTorchTrainingJob& job);
std::string replica_name(const PyTorchTrainingJob& job, std::string_view type, int index);
// Of the longest name that a replica will have.
std::size_t longest_replica_name(const PyTorchTrainingJob& job);

// ---- restarts ----------------------------------------------------------------------------------

inline constexpr std::array<int, 4> retryable_codes{130, 137, 138, 143};  // §7
inline constexpr bool retries_without_code = true;                        // PROPOSED (G13)
bool is_retryable(std::optional<int> exit_code);

// How a pod ended, or as much of it as the status has kept.
struct End {
  bool failed = false;  // else it has succeeded
  std::optional<int> exit_code{};
};
// Whether the policy has a replica that ended so made again, budget aside (§7). Of a master that
// has succeeded nobody asks.
bool wants_restart(std::string_view policy, const End& end);
// The one budget of all replicas (§2.1).
int backoff_limit(const PyTorchTrainingJobSpec& spec);
std::string_view restart_policy(const PyTorchTrainingJobReplicas& replicas);
std::string_view clean_up_policy(const PyTorchTrainingJobSpec& spec);
bool is_deleted_by_clean_up(std::string_view policy, std::string_view phase);  // §15

// ---- containers --------------------------------------------------------------------------------

// The container called so trains; else the first one does (§4.1). PROPOSED (G10).
inline constexpr std::string_view training_container_name = "python";
// Its index; nothing: there is no container.
std::optional<std::size_t> training_container(const PodSpec& pod);
// Of a failed pod: the training container's, else the first other container's, else an init
// container's. PROPOSED (§7).
std::optional<int> exit_code_of(const Pod& pod);
// The same of what the status has kept of one of that template.
std::optional<int> exit_code_of(const TaskReplica& replica, const PodSpec& pod);

// ---- modes -------------------------------------------------------------------------------------

bool is_paused(const PyTorchTrainingJobSpec& spec);
bool is_debugged(const PyTorchTrainingJobSpec& spec);

}  // namespace ddptwin::controller::t9k
