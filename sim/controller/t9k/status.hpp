// What a PyTorchTrainingJob's status says: conditions, phase, sums (spec/t9k.md §2.2, §5, §9).
#pragma once

#include <string>
#include <string_view>

#include "controller/t9k/policy.hpp"

namespace ddptwin::controller::t9k {

namespace condition {
inline constexpr std::string_view initialized = "Initialized";
inline constexpr std::string_view running = "Running";
inline constexpr std::string_view failed = "Failed";
inline constexpr std::string_view completed = "Completed";
inline constexpr std::string_view replica_failure = "ReplicaFailure";
inline constexpr std::string_view paused = "Paused";
}  // namespace condition

namespace phase {
inline constexpr std::string_view creating = "Creating";
inline constexpr std::string_view deleted = "Deleted";
}  // namespace phase

// A condition's reason and message (§9; what is marked so is PROPOSED, G18).
struct Words {
  std::string_view reason;
  std::string_view message;
};
namespace words {
inline constexpr Words initialized{"-", "The job has been initialized successfully."};
inline constexpr Words well{"-", "All pods are running normally."};
inline constexpr Words succeeded{"Succeeded", "The job has finished successfully."};
inline constexpr Words failed{"Failed", "The job exited with an error code."};
inline constexpr Words too_long{"Failed", "The job has exceeded its active deadline."};  // PROPOSED
inline constexpr Words paused{"Paused", "The job has been paused."};                     // PROPOSED
inline constexpr Words resumed{"Resumed", "The job has been resumed."};
inline constexpr std::string_view replica_failure = "ReplicaFailure";
}  // namespace words
// "Replica NAME failed with exit code N." PROPOSED (G18).
std::string failure_text(std::string_view replica, std::optional<int> exit_code);

// Conditions stand in one order, each type once; the time changes with the status alone.
void set_condition(PyTorchTrainingJobStatus& status, std::string_view type, bool value, Words words,
                   Time now);
bool is_finished(const PyTorchTrainingJobStatus& status);
bool was_paused(const PyTorchTrainingJobStatus& status);  // at any time

// Sets aggregate by the replicas' phases, and phase by conditions, mode and the master.
void sum_up(PyTorchTrainingJobStatus& status, const PyTorchTrainingJobSpec& spec);

// The pod's containers in the order of its specification.
std::vector<TaskContainer> containers_of(const Pod& pod);

// What is told of the TensorBoard; null: it is not there (§13; intermediate ones PROPOSED, G30).
DependentStatus tensorboard_status(const std::string& name, const TensorBoard* there);

}  // namespace ddptwin::controller::t9k
